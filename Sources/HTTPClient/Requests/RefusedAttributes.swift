import Endpoints
import JobModel
import Locks

/// What a store has refused to keep of an upload's source: it is left out from then on.
struct RefusedAttributes {
  let classes: RefusedClasses
  let origin: String
  private(set) var attributes: Set<Attribute> = []
  /// A body is to be sent again without it.
  var isNew = false

  mutating func note(_ source: UploadSource, _ reduced: UploadSource) {
    if source.preserved.tags != nil, reduced.preserved.tags == nil { attributes.insert(.tags) }
    if let name = source.preserved.storageClass, reduced.preserved.storageClass == nil {
      classes.note(name, at: origin)
    }
  }

  func apply(to source: UploadSource) -> UploadSource {
    var reduced = source
    if attributes.contains(.tags) { reduced.preserved.tags = nil }
    if let name = source.preserved.storageClass, classes.has(name, at: origin) {
      reduced.preserved.storageClass = nil
    }
    return reduced
  }
}

/// Storage classes that stores do not know: a run's other objects are not sent with them first.
final class RefusedClasses: Sendable {
  private let known = Locked<[String: Set<String>]>([:])

  func note(_ name: String, at origin: String) {
    known.withLock { _ = $0[origin, default: []].insert(name) }
  }

  func has(_ name: String, at origin: String) -> Bool {
    known.withLock { $0[origin]?.contains(name) == true }
  }
}
