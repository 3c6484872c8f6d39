internal import JobModel

/// The destination of an entry that moves one file, whatever else is wrong with it.
struct DestinationClaim {
  var id: String
  /// Of the entry.
  var mark: SourceMark
  var direction: Verb
  var source: PlaceTemplate
  var destination: PlaceTemplate
}
