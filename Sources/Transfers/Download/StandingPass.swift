import Endpoints
import HTTPClient
package import JobLedger
import JobModel
import LocalFiles

/// Settles, many at once, downloads that are done by their records and whose files are as they were left: what each would come
/// to in a turn of its own (`Settlement`) without a request, at a small part of the work.
package struct StandingPass {
  /// How many of a profile were settled.
  package typealias Settled = (sample: LedgerTransfer, count: Int)

  private let context: TransferContext
  private let isSelective: Bool
  /// How far the plan was read; nil at its end.
  private var last: Int64? = 0
  /// The first that was met of each profile; nil for profiles whose transfers have to be looked at one by one.
  private var samples: [Int64: LedgerTransfer?] = [:]
  private static let (page, shares, mostProfiles) = (4096, 8, 1024)

  /// - Parameter isSelective: of those alone that the attempt was asked for.
  package init(_ context: TransferContext, isSelective: Bool) {
    (self.context, self.isSelective) = (context, isSelective)
    if context.checksEverything { last = nil }
  }

  /// Settles the next of them.
  ///
  /// - Parameter admits: whether transfers of this one's profile may be looked at now.
  /// - Returns: nil at the plan's end.
  /// - Throws: `LedgerError`.
  package nonisolated(nonsending) mutating func next(
    _ admits: (LedgerTransfer) throws -> Bool
  ) async throws -> [Settled]? {
    guard let after = last else { return nil }
    let ledger = context.run.ledger
    let (page, end) = try ledger.standingCompletions(after: after, isSelective: isSelective, limit: Self.page)
    last = end
    var admitted: [Int64: LedgerTransfer] = [:]
    for profile in Set(page.lazy.map(\.profile)) {
      if let sample = try sample(of: profile, in: page), try admits(sample) { admitted[profile] = sample }
    }
    let asked = page.filter { admitted[$0.profile] != nil }
    guard !asked.isEmpty else { return [] }
    let outside = Set(admitted.values.lazy.filter(\.settings.allowsOutside).map(\.profile))
    let standing = try await standing(of: asked, outside: outside)
    let settled = try ledger.settleStanding(standing, at: context.client.clock.now())
    var counts: [Int64: Int] = [:]
    for one in asked where settled.contains(one.seq) {
      counts[one.profile, default: 0] += 1
      context.run.tellStanding(one.id, reused: one.size)
    }
    return counts.compactMap { profile, count in admitted[profile].map { (sample: $0, count: count) } }
  }

  private mutating func sample(of profile: Int64, in page: [StandingCompletion]) throws -> LedgerTransfer? {
    if let known = samples[profile] { return known }
    // Rows that each say something of their own must not fill the memory.
    guard samples.count < Self.mostProfiles, let first = page.first(where: { $0.profile == profile }) else {
      return nil
    }
    let transfer = try context.run.ledger.transfer(first.seq)
    let sample = transfer.flatMap { Self.isProvedByFile($0.settings) ? $0 : nil }
    samples[profile] = .some(sample)
    return sample
  }

  private static func isProvedByFile(_ settings: TransferSettings) -> Bool {
    settings.direction == .download && settings.isEnabled && settings.refresh == .changed
      && settings.then == nil && settings.needs.isEmpty && settings.obstacle == nil
  }

  /// Those whose files are as they were left. All cores share the looks.
  ///
  /// - Parameter outside: profiles whose files may lie out of the job's folder.
  private nonisolated(nonsending) func standing(
    of asked: [StandingCompletion], outside: Set<Int64>
  ) async throws -> [Int64] {
    let local = context.local
    return try await withThrowingTaskGroup(of: [Int64].self) { group in
      for share in 0..<Self.shares {
        let part = asked[asked.count * share / Self.shares..<asked.count * (share + 1) / Self.shares]
        if part.isEmpty { continue }
        group.addTask { try await local.pool.run { Self.standing(part, outside: outside, local) } }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
  }

  private static func standing(
    _ part: ArraySlice<StandingCompletion>, outside: Set<Int64>, _ local: LocalContext
  ) -> [Int64] {
    var opened: (parent: String, isBeneath: Bool, folder: Folder?)?
    return part.compactMap { one in
      let (parts, isBeneath) = (PathParts(one.path), !outside.contains(one.profile))
      if opened?.parent != parts.parent || opened?.isBeneath != isBeneath {
        opened = (parts.parent, isBeneath, local.folder.existing(parts.parent, beneath: isBeneath))
      }
      guard let folder = opened?.folder, let now = try? folder.facts(parts.name), now.size == one.size,
        now.mtime == one.mtime, now.inode == one.inode, !local.protected.mayContain(inode: now.inode)
      else { return nil }
      return one.seq
    }
  }
}
