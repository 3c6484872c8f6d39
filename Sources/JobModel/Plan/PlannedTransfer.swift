/// One transfer of a compiled plan: every value interpolated, every setting decided.
package struct PlannedTransfer: Sendable, Hashable {
  package var id: String
  package var source: Place
  package var destination: Place
  /// The destination before values of the run (`${run.*}`) are put in: what identity counts.
  package var destinationIdentity: String
  /// Shared by all rows of a fan-out that say the same.
  package var settings: TransferSettings
  package var expect: Expectation
  /// Bytes, where the planner has seen the source (a globbed or plain local file).
  package var knownSize: Int64?
  /// The manifest's or row file's line that made it.
  package var mark: SourceMark
  /// The destination ends in `/` or is `NAME:` alone: the name is the source's or the server's.
  package var takesSourceName: Bool
  /// Within one expansion, equal numbers mean equal settings; nil where rows decide some of them.
  package var settingsGroup: Int?
  /// Its place in the plan of the whole job, from 1 on; nil unless only a part is planned.
  package var ordinal: Int64?
  /// Of the row of a file that it is made of; nil where nobody wants to know the row again.
  package var rowDigest: UInt64?

  package init(
    id: String, source: Place, destination: Place, destinationIdentity: String, settings: TransferSettings,
    expect: Expectation, knownSize: Int64? = nil, mark: SourceMark, takesSourceName: Bool = false,
    settingsGroup: Int? = nil
  ) {
    self.id = id
    self.source = source
    self.destination = destination
    self.destinationIdentity = destinationIdentity
    self.settings = settings
    self.expect = expect
    self.knownSize = knownSize
    self.mark = mark
    self.takesSourceName = takesSourceName
    self.settingsGroup = settingsGroup
  }
}
