package import JobModel

/// What a run would do with one transfer, as far as it is known without asking servers.
package struct PlanLine: Sendable, Hashable {
  package typealias Action = PlannedAction

  /// How it stands to what is on record.
  package enum Change: String, Sendable, Hashable, CaseIterable {
    case new, changed
    /// It failed, or was stopped: it is tried again.
    case again
    /// The run leaves it alone.
    case held
    case upToDate = "up_to_date"
  }

  package var id: String
  package var direction: Verb
  package var source: Place
  package var destination: Place
  /// The protocol's word.
  package var protocolName: String
  /// Bytes; nil where unknown.
  package var size: Int64?
  /// Of the size: bytes that are there already.
  package var present: Int64 = 0
  package var chunkSize: Int64?
  package var chunks: Int?
  package var action: Action
  /// nil where nothing is compared.
  package var change: Change?
  /// Why, where there is more to say: `needs:ID`, `disabled`, …
  package var reason: String?
  /// nil until a server has shown it.
  package var isResumable: Bool?
  package var isParallel: Bool?
  /// What the bytes will be checked with, best first; empty where nothing is known to be.
  package var verifiedBy: [String]
  /// What governs it; nil where the plan's reader is not told.
  package var policy: EffectivePolicy?
  package var policyName: String?
  /// The request that ties the file to its record: `POST api:records/7`.
  package var then: String?

  package init(
    id: String, direction: Verb, source: Place, destination: Place, protocolName: String,
    size: Int64? = nil, chunkSize: Int64? = nil, chunks: Int? = nil, action: Action, reason: String? = nil,
    isResumable: Bool? = nil, isParallel: Bool? = nil, verifiedBy: [String] = []
  ) {
    self.id = id
    self.direction = direction
    self.source = source
    self.destination = destination
    self.protocolName = protocolName
    self.size = size
    self.chunkSize = chunkSize
    self.chunks = chunks
    self.action = action
    self.reason = reason
    self.isResumable = isResumable
    self.isParallel = isParallel
    self.verifiedBy = verifiedBy
  }
}

/// What `plan` sums up, line by line.
package struct PlanTotals: Sendable, Hashable {
  package private(set) var transfers = 0
  /// Of the known sizes.
  package private(set) var bytes: Int64 = 0
  package private(set) var unknownSizes = 0
  /// Of the known counts.
  package private(set) var chunks = 0
  package private(set) var changes: [PlanLine.Change: Int] = [:]
  package private(set) var actions: [PlanLine.Action: Int] = [:]
  /// Known bytes of what would be transferred or resumed.
  package private(set) var bytesToMove: Int64 = 0

  package init() {}

  package mutating func add(_ line: PlanLine) {
    add(line.size, line.chunks, line.action, line.change, present: line.present)
  }

  /// A transfer to run, of which nothing is on record.
  mutating func add(newOf size: Int64?, chunks: Int?) { add(size, chunks, .transfer, .new, present: 0) }

  mutating func add(upToDate size: Int64, chunks: Int) { add(size, chunks, .upToDate, .upToDate, present: 0) }

  private mutating func add(
    _ size: Int64?, _ chunks: Int?, _ action: PlanLine.Action, _ change: PlanLine.Change?, present: Int64
  ) {
    transfers += 1
    bytes = bytes.adding(clamping: size ?? 0)
    if size == nil { unknownSizes += 1 }
    self.chunks = self.chunks.adding(clamping: chunks ?? 0)
    actions[action, default: 0] += 1
    if let change { changes[change, default: 0] += 1 }
    switch action {
    case .transfer, .resume, .unknown:
      bytesToMove = bytesToMove.adding(clamping: max(0, (size ?? 0) - present))
    case .upToDate, .skip, .attach: break
    }
  }
}
