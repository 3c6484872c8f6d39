/// Keys that are checked in full but do nothing yet. Delete an entry when its feature works.
enum NotYetInEffect {
  /// A key's path below its kind of mapping; after `=`, the one value that it is about.
  static let keys: Set<String> = [
    "endpoint.type=s3",
    "endpoint.type=presigned",
    "endpoint.type=kii",
    "endpoint.type=salesforce",
    "endpoint.type=tus",
    "auth.aws",
    "auth.oauth2",
    "auth.netrc",
  ]
}
