package import JobModel

/// The id of a file in Salesforce: 15 characters, or 18 with a suffix that guards the case of the first 15
/// (Salesforce help, "15-character and 18-character record IDs").
package struct SalesforceID: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    /// `068…`: one version of a file, which never changes.
    case version
    /// `069…`: a file, whose latest version is meant.
    case document
  }
  /// Why nothing is uploaded there, as the user is told (`dome_sobject_insert_update_blob` of its REST API guide).
  package static let uploadLimit =
    "Salesforce takes a file of at most 2 GB in one request that can't be resumed; use its own tools for uploads"

  package let text: String
  package let kind: Kind

  /// - Throws: what is wrong with it, and what would be right.
  package init(_ text: String) throws(ValueFault) {
    let hint =
      "a ContentVersion id like `068xx0000004C92AAE`, or a ContentDocument id, which begins with `069`"
    guard text.count == 15 || text.count == 18, text.utf8.allSatisfy(PercentEncoding.isAlphanumeric) else {
      throw ValueFault("`\(text)` is not a Salesforce id: it has 15 or 18 letters and digits", hint: hint)
    }
    switch text.prefix(3) {
    case "068": kind = .version
    case "069": kind = .document
    default: throw ValueFault("`\(text)` is not the id of a file in Salesforce", hint: hint)
    }
    guard text.count == 15 || text.suffix(3).uppercased() == Self.suffix(text.prefix(15)) else {
      throw ValueFault(
        "`\(text)` is damaged: its last three characters do not fit the others",
        hint: "copy it again; upper and lower case count")
    }
    self.text = text
  }

  /// Three characters, each for five: bit n says that the character n is an upper-case letter.
  package static func suffix(_ text: some StringProtocol) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ012345")
    let letters = Array(text.utf8)
    return String(
      stride(from: 0, to: letters.count, by: 5).map { start in
        let bits = (0..<min(5, letters.count - start)).reduce(0) { bits, index in
          (0x41...0x5A).contains(letters[start + index]) ? bits | 1 << index : bits
        }
        return alphabet[bits]
      })
  }
}
