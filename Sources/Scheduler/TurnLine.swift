import JobLedger

/// Transfers that wait, first come, first served. Those in front are at hand; of the others only the names are, as a
/// host that rests may have thousands waiting. Whoever has had a turn is let go of at once: an array's slice would
/// keep all that ever stood in the line.
struct TurnLine {
  /// Reads those of these transfers that are still queued.
  typealias Reading = (_ seqs: [Int64]) throws -> [LedgerTransfer]

  private var front: [LedgerTransfer?] = []
  private var frontHead = 0
  private var behind: [(seq: Int64, profile: Int64)] = []
  private var behindHead = 0
  /// Two pages of the queue's reading: in a line that moves on, nothing is read twice.
  static let inFront = 512

  private var frontCount: Int { front.count - frontHead }
  private var behindCount: Int { behind.count - behindHead }
  var count: Int { frontCount + behindCount }
  var isEmpty: Bool { count == 0 }
  var firstSeq: Int64? {
    frontCount > 0 ? front[frontHead]?.seq : behindCount > 0 ? behind[behindHead].seq : nil
  }
  /// How many of each profile wait.
  var profiles: [Int64: Int] {
    var counts: [Int64: Int] = [:]
    for transfer in front[frontHead...] { if let transfer { counts[transfer.profile, default: 0] += 1 } }
    for name in behind[behindHead...] { counts[name.profile, default: 0] += 1 }
    return counts
  }

  mutating func append(_ transfer: LedgerTransfer) {
    if behindCount == 0, frontCount < Self.inFront {
      front.append(transfer)
    } else {
      behind.append((transfer.seq, transfer.profile))
    }
  }

  /// Nil where none that stood in it is queued any more.
  mutating func popFirst(_ read: Reading) throws -> LedgerTransfer? {
    while frontCount == 0, behindCount > 0 {
      let seqs = behind[behindHead...].prefix(Self.inFront / 2).map(\.seq)
      front = try read(seqs)
      frontHead = 0
      behindHead += seqs.count
      if behindHead >= behindCount {
        behind.removeFirst(behindHead)
        behindHead = 0
      }
    }
    guard frontCount > 0 else { return nil }
    let first = front[frontHead].take()
    frontHead += 1
    if frontCount == 0 || frontHead >= Self.inFront / 2 {
      front.removeFirst(frontHead)
      frontHead = 0
    }
    return first
  }
}
