import JobModel

/// `causes` of several reports as of one: in the order and with the first ids that one machine would have.
struct MergedCauses {
  private struct Key: Hashable {
    var state: String
    var reason: String?
    var cause: Cause
  }

  private struct Group {
    var count = 0
    /// The first transfers by their place in the plan; no more than a report names.
    var first: [(place: Place, id: String)] = []
    /// Of the first of them.
    var example = ""
  }

  /// Where a transfer stands in the plan of the whole job.
  struct Place: Comparable {
    var ordinal: Int64
    var shard: Int

    static func < (one: Place, other: Place) -> Bool {
      (one.ordinal, one.shard) < (other.ordinal, other.shard)
    }
  }

  private var groups: [Key: Group] = [:]

  mutating func add(_ transfer: JSON, _ shard: Shard?) {
    let error = transfer["error"]
    guard let code = error["code"].string, let message = error["message"].string else { return }
    let id = transfer["id"].string ?? ""
    let reason = Cause.group(of: transfer["reason"].string)
    let host = transfer["url"].string.flatMap(URLHost.of)
    let cause =
      ErrorCode(rawValue: code).map { Cause(Failure($0, message), id: id, host: host) }
      ?? Cause(code: code, host: host, message: CauseMessage.general(message, id: id))
    var key = Key(state: transfer["state"].string ?? "", reason: reason, cause: cause)
    if groups[key] == nil, groups.count >= CauseTally.limit {
      key.cause = .various(code)
    }
    let place = Place(ordinal: transfer["ordinal"].int64 ?? .max, shard: shard?.index ?? .max)
    var group = groups[key] ?? Group()
    group.count += 1
    if group.first.first.map({ place < $0.place }) ?? true {
      group.example = key.cause == cause ? message : key.cause.message
    }
    let at = group.first.firstIndex { place < $0.place } ?? group.first.endIndex
    group.first.insert((place, id), at: at)
    if group.first.count > CauseTally.named { group.first.removeLast() }
    groups[key] = group
  }

  var json: JSON {
    let sorted = groups.compactMap { key, group in
      group.first.first.map { (rank: Cause.rank(of: key.state), place: $0.place, key: key, group: group) }
    }.sorted { ($0.rank, -$0.group.count, $0.place) < ($1.rank, -$1.group.count, $1.place) }
    return .array(
      sorted.map { _, _, key, group in
        [
          "code": .string(key.cause.code), "host": .text(key.cause.host),
          "message": .string(Masking.text(group.count == 1 ? group.example : key.cause.message)),
          "count": .int(group.count), "ids": .array(group.first.map { .string($0.id) }),
        ]
      })
  }
}
