internal import JobModel

/// What `manifest.json` of an S3 Inventory says: which files list the bucket's objects, and what stands in them
/// (docs.aws.amazon.com/AmazonS3/latest/userguide/storage-inventory-location.html).
struct InventoryManifest {
  struct File {
    /// In the bucket that the inventory was written to.
    var key: String
    /// MD5 of the compressed file, lower-case hex.
    var md5: String
  }

  var bucket: String
  /// In the order of the cells.
  var columns: [String]
  var files: [File]

  /// - Throws: what is wrong with it.
  init(_ bytes: [UInt8]) throws(ValueFault) {
    let json: JSON
    do throws(JSONReader.Fault) {
      var reader = JSONReader(bytes[...])
      json = try reader.value()
      try reader.end(after: "the manifest")
    } catch {
      throw ValueFault(
        "this is not an S3 Inventory: \(error.message) at byte \(error.index)", hint: Self.hint)
    }
    guard let bucket = json["sourceBucket"].string, let format = json["fileFormat"].string,
      let files = json["files"].array
    else {
      throw ValueFault(
        "this is not an S3 Inventory: it lacks `sourceBucket`, `fileFormat` or `files`", hint: Self.hint)
    }
    guard format.uppercased() == "CSV" else {
      throw ValueFault(
        "the inventory is in the format \(format.prefix(40)), and haul reads CSV",
        hint: "have the bucket's inventory written as CSV")
    }
    columns = (json["fileSchema"].string ?? "").split(separator: ",").map { String($0).trimmed() }
    guard columns.contains("Key"), Set(columns).count == columns.count else {
      throw ValueFault("the inventory's `fileSchema` has no `Key`, or one name twice", hint: Self.hint)
    }
    self.bucket = bucket
    self.files = []
    for file in files {
      guard let key = file["key"].string, let md5 = file["MD5checksum"].string?.lowercased(),
        md5.utf8.count == DigestAlgorithm.md5.hexLength
      else {
        throw ValueFault(
          "a file of the inventory has no `key`, or no `MD5checksum` to prove it by", hint: Self.hint)
      }
      self.files.append(File(key: key, md5: md5))
    }
  }

  private static let hint = "`inventory` names the manifest.json that S3 writes beside an inventory's files"

  /// Where a file may lie, best first, from the manifest's folder: as its key says, beside the manifest, or in the folder `data`
  /// that S3 writes.
  static func places(of key: String) -> [String] {
    let parts = key.split(separator: "/")
    guard let name = parts.last, !parts.contains("..") else { return [] }
    return [parts.joined(separator: "/"), String(name), "data/\(name)", "../data/\(name)"]
  }
}

extension String {
  fileprivate func trimmed() -> String {
    String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}
