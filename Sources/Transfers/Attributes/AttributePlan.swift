import Endpoints
import JobModel

/// Which attributes go along with a transfer's bytes, and which are lost on the way. A value: it asks nobody.
struct AttributePlan: Sendable, Hashable {
  /// What one end of a transfer tells, or has a place for.
  struct Ends: Sendable, Hashable {
    /// Of the source's kind.
    var tells: Set<Attribute>
    /// Of the destination's kind.
    var keeps: Set<Attribute>
    /// Between two remotes what the source has and the destination can't keep is lost; else what has no counterpart on
    /// this machine is not spoken of, unless it is asked for by name.
    var areRemote: Bool
  }

  private(set) var preserved: Set<Attribute> = []
  private(set) var lost: Set<Attribute> = []
  /// What is sent, or set, besides the content type.
  private(set) var sent = ObjectAttributes()

  /// - Parameters:
  ///   - attributes: of the source; tags that are nil could not be asked for.
  ///   - hasType: the source has a content type, and it goes along.
  ///   - hidesTime: the source's time is there, and can't be read.
  ///   - storesByClass: both ends know storage classes.
  init(
    _ rule: PreserveRule, _ ends: Ends, of attributes: ObjectAttributes, hasType: Bool,
    hidesTime: Bool = false, storesByClass: Bool = false
  ) {
    for attribute in Attribute.allCases where rule.asks(for: attribute) {
      var presence = Self.presence(of: attribute, attributes, hasType: hasType, ends.tells, rule)
      if attribute == .mtime, presence == .absent, hidesTime { presence = .hidden }
      guard presence != .absent else { continue }
      if presence == .present, ends.keeps.contains(attribute) {
        preserved.insert(attribute)
        send(attribute, attributes)
      } else if !rule.isImplied,
        rule.named[attribute] != nil || ends.areRemote && (presence == .present || presence == .hidden)
      {
        lost.insert(attribute)
      }
    }
    if rule.takesAvailable, storesByClass { sent.storageClass = attributes.storageClass }
  }

  private enum Presence {
    case present, absent
    /// The store does not say whether there are any, or in no way that can be read.
    case hidden
    /// The source's kind can't tell.
    case untold
  }

  private static func presence(
    of attribute: Attribute, _ attributes: ObjectAttributes, hasType: Bool, _ tells: Set<Attribute>,
    _ rule: PreserveRule
  ) -> Presence {
    guard tells.contains(attribute) else { return .untold }
    let isThere: Bool
    switch attribute {
    case .contentType: isThere = hasType
    case .contentHeaders: isThere = !attributes.headers.isEmpty
    case .metadata:
      // What goes along as the time or the mode counts as that.
      isThere = attributes.metadata.contains { name, _ in
        !(name == ObjectAttributes.mtimeName && attributes.mtime != nil && rule.asks(for: .mtime)
          || name == ObjectAttributes.modeName && attributes.mode != nil && rule.asks(for: .mode))
      }
    case .tags:
      guard let tags = attributes.tags else { return attributes.tagCount == 0 ? .absent : .hidden }
      isThere = !tags.isEmpty
    case .mtime: isThere = attributes.mtime != nil
    case .mode:
      isThere = attributes.mode != nil
      // One that can't be read may go along as metadata.
      if !isThere, attributes.metadata[ObjectAttributes.modeName] != nil, !rule.asks(for: .metadata) {
        return .hidden
      }
    }
    return isThere ? .present : .absent
  }

  private mutating func send(_ attribute: Attribute, _ attributes: ObjectAttributes) {
    switch attribute {
    case .contentType: break
    case .contentHeaders: sent.headers = attributes.headers
    case .metadata: sent.metadata = attributes.metadata
    case .tags: sent.tags = attributes.tags
    case .mtime:
      sent.mtime = attributes.mtime
      sent.metadata[ObjectAttributes.mtimeName] = attributes.metadata[ObjectAttributes.mtimeName]
    case .mode:
      sent.mode = attributes.mode
      sent.metadata[ObjectAttributes.modeName] = attributes.metadata[ObjectAttributes.modeName]
    }
  }

  var kept: KeptAttributes { KeptAttributes(preserved: preserved, lost: lost) }

  /// - Throws: `ATTRIBUTES_LOST` where one of these is lost that may not be.
  func check(_ rule: PreserveRule, _ place: String) throws(Failure) {
    try Self.check(lost, rule, "\(place) would go without")
  }

  /// - Parameter what: where it is lost, to be gone on with by the names.
  static func check(_ lost: Set<Attribute>, _ rule: PreserveRule, _ what: String) throws(Failure) {
    let names = lost.intersection(rule.demanded).inOrder.map { "`\($0.rawValue)`" }
    guard !names.isEmpty else { return }
    throw Failure(
      .attributesLost, "\(what) \(names.joined(separator: ", ")), which `preserve` demands",
      class: .permanent)
  }
}

extension RemoteObject {
  /// The time of the file that the object was made of, in nanoseconds since 1970.
  ///
  /// - Parameter byLastModified: where nothing else tells it, Last-Modified does; nil where that is no date, or beyond what
  ///   nanoseconds can tell.
  func mtime(byLastModified: Bool) -> Int64? {
    if let time = attributes.mtime { return time }
    guard byLastModified, let seconds = lastModified.flatMap(HTTPDate.seconds) else { return nil }
    let (time, isBeyond) = Int64(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
    return isBeyond ? nil : time
  }
}
