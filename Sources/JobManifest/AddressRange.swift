internal import JobModel

/// A range of addresses in a policy, kept as it is written.
enum AddressRange {
  static func check(_ text: String) throws(ValueFault) -> String { try AddressBlock(text).text }
}
