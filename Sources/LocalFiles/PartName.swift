import Digests
import Glibc
import JobModel

/// Names of part files: `.NAME.TAG.haul-part`.
package enum PartName {
  private static let ending = ".haul-part"

  /// NAME cut so that all fits 255 bytes.
  package static func of(_ destination: String, tag: String) -> String {
    let ending = ".\(tag)" + ending
    var bytes = Array(destination.utf8.prefix(255 - ending.utf8.count - 1))
    while !bytes.isEmpty, String(validating: bytes, as: UTF8.self) == nil { bytes.removeLast() }
    return "." + String(decoding: bytes, as: UTF8.self) + ending
  }

  /// The tag of a transfer's part file: 16 hex digits that nobody can guess who does not know the ledger's key. The file
  /// is found again by it also where a kill came before its record.
  package static func tag(_ seq: Int64, key: String) -> String {
    let bytes = (try? Digest.bytes(of: Array("\(key) \(seq)".utf8), .sha256)) ?? []
    return bytes.count < 8 ? random() : Hex.encode(bytes.prefix(8))
  }

  /// For where that name is taken.
  package static func random() -> String {
    let text = String(UInt64.random(in: .min ... .max), radix: 16)
    return String(repeating: "0", count: 16 - text.count) + text
  }
}
