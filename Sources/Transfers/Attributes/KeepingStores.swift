import JobModel
import Locks

/// What a run has found out of stores that take attributes with an object: some drop what they took, and say nothing.
final class KeepingStores: Sendable {
  /// What a store keeps or drops as one.
  enum Field: Sendable, Hashable {
    case contentType, metadata, tags, mtime, mode
    case header(ContentHeader)

    var attribute: Attribute {
      switch self {
      case .contentType: .contentType
      case .metadata: .metadata
      case .tags: .tags
      case .mtime: .mtime
      case .mode: .mode
      case .header: .contentHeaders
      }
    }
  }

  /// By origin: it keeps the field, or drops it.
  private let known = Locked<[String: [Field: Bool]]>([:])

  /// Nobody has looked yet what becomes of one of them there.
  func isUnknown(_ fields: Set<Field>, at origin: String) -> Bool {
    let known = known(at: origin)
    return fields.contains { known[$0] == nil }
  }

  /// Those that are not kept there, as far as is known.
  func dropped(of fields: Set<Field>, at origin: String) -> Set<Field> {
    let known = known(at: origin)
    return fields.filter { known[$0] == false }
  }

  private func known(at origin: String) -> [Field: Bool] { known.withLock { $0[origin] ?? [:] } }

  /// One object that has kept a field says more than one that has not.
  func note(_ fields: Set<Field>, dropped: Set<Field>, at origin: String) {
    known.withLock {
      for field in fields where $0[origin]?[field] != true {
        $0[origin, default: [:]][field] = !dropped.contains(field)
      }
    }
  }
}
