package import JobModel

/// Which transfers `haul verify` compares, and how.
package struct VerifyRequest: Sendable {
  package var ids: IDPattern?
  /// Of all: above 0, up to 1.
  package var share: Double?
  /// Only what this run completed.
  package var run: Int?
  /// Uploads are read back where the endpoint can.
  package var readsRemote = false
  package var rate = Rate.unlimited

  package init() {}

  /// Reads `1%`.
  ///
  /// - Returns: above 0, up to 1.
  package static func share(_ text: String) throws(ValueFault) -> Double {
    let digits = text.dropLast()
    guard text.hasSuffix("%"), let first = digits.utf8.first, (0x30...0x39).contains(first),
      digits.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }),
      let percent = Double(digits), percent > 0, percent <= 100
    else {
      throw ValueFault(
        "`\(text)` is not a share", hint: "a number above 0 and up to 100 and `%`, like `1%` or `0.5%`")
    }
    return percent / 100
  }

  /// What was asked, for the output.
  var json: JSON {
    [
      "id": .text(ids?.text), "sample_percent": .double(share.map { $0 * 100 }), "run": .int(run),
      "read": .bool(readsRemote),
    ]
  }
}
