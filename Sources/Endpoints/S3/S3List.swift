/// What S3's lists have in common, one page of keys or parts at a time.
enum S3List {
  /// A document of another kind, an error page for instance, is not an empty list. Root names differ between makes; that of
  /// all buckets comes where the host was not taken for a bucket's.
  static func isOne(_ root: XMLTree.Element, of item: String) -> Bool {
    root["IsTruncated"] != nil || root.name.hasPrefix("List") && root.name != "ListAllMyBucketsResult"
      || root.children.contains { $0.name == item }
  }

  /// What a mark leads to has keys, or says that there is nothing more.
  static func isPage(_ root: XMLTree.Element) -> Bool {
    root["IsTruncated"] != nil
      || root.children.contains { ["Contents", "CommonPrefixes"].contains($0.name) }
  }

  /// There is more behind this page; gofakes3 leaves the element out where there is not.
  static func isCut(_ root: XMLTree.Element) -> Bool { root["IsTruncated"]?.lowercased() == "true" }
}
