/// Knows rows of files again that a plan has just as they are: nothing is planned for them anew.
package protocol KnownRows: AnyObject {
  /// Asked for each row, in order.
  ///
  /// - Parameter row: its bytes, behind those that say what they mean.
  /// - Returns: nil where the plan has it; else its digest, for `PlannedTransfer.rowDigest`.
  func digest(of row: [UInt8]) throws -> UInt64?
}
