import Endpoints
import JobModel

/// What a store has refused to keep of an upload's source: it is left out from then on.
struct RefusedAttributes {
  private(set) var attributes: Set<Attribute> = []
  private var storageClass = false
  /// A body is to be sent again without it.
  var isNew = false

  mutating func note(_ source: UploadSource, _ reduced: UploadSource) {
    if source.preserved.tags != nil, reduced.preserved.tags == nil { attributes.insert(.tags) }
    if source.preserved.storageClass != nil, reduced.preserved.storageClass == nil { storageClass = true }
  }

  func apply(to source: UploadSource) -> UploadSource {
    var reduced = source
    if attributes.contains(.tags) { reduced.preserved.tags = nil }
    if storageClass { reduced.preserved.storageClass = nil }
    return reduced
  }
}
