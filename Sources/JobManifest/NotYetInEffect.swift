/// Keys that are checked in full but do nothing yet. Delete an entry when its feature works.
enum NotYetInEffect {
  /// A key's path below its kind of mapping; after `=`, the one value that it is about.
  static let keys: Set<String> = []
}
