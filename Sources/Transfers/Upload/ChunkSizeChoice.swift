import Admission
import Endpoints
import JobModel

/// How large the chunks of an upload are: what the manifest asks for, as far as protocol, server and budget allow it.
struct ChunkSizeChoice {
  /// A budget makes chunks no smaller than this, in bytes.
  private static let least: Int64 = 16 * 1024
  /// What is kept of each is in memory while a file is sent.
  private static let mostChunks = 10_000_000

  let size: Int64
  let settings: TransferSettings
  let abilities: UploadAbilities
  var limits = JobLimits()
  /// The size that damage has led to.
  var afterDamage: Int64?
  /// The size of chunks that are there already.
  var begun: Int64?
  /// Bytes per second that the host was last measured at.
  var rate: Double?
  /// The largest chunks that the server has agreed to in this run.
  var limit: Int64?
  /// The largest that can be held whole, in bytes; nil where they need not be.
  var mostHeld: Int64?
  /// Its bytes come over the network as well: a budget pays for them on both ways.
  var isRelayed = false

  /// - Parameter warn: told what the manifest's size had to give way to.
  /// - Throws: `POLICY_DENIED` where a budget would never let a chunk through.
  func bytes(_ destination: Place, warn: (String, _ hint: String?) -> Void) throws(Failure) -> Int64 {
    let taken = afterDamage.map { abilities.chunkSize(wanted: $0, of: size) } ?? chosen(warn)
    try Self.check(size: size, chunk: taken, most: abilities.maximumChunks, destination)
    let atOnce = min(taken, size)
    if let budget, abilities.order != .byOffset, atOnce > budget.bytes / ways {
      let counted =
        isRelayed
        ? "twice the \(atOnce) bytes (from the source and to the destination)" : "the \(atOnce) bytes"
      throw Failure(
        .policyDenied,
        "the budget of \(budget.bytes) bytes a \(budget.period.rawValue) is less than \(counted) that `\(destination.text)` takes at once: it could never be sent; nothing was. Raise `budget`, or lower `chunk_size`"
      )
    }
    return taken
  }

  /// - Throws: where a file would have more chunks than can be kept: a server may have told its size, or theirs.
  static func check(size: Int64, chunk: Int64, most: Int?, _ destination: Place) throws(Failure) {
    let (count, most) = (ChunkLayout(size: size, chunkSize: chunk).count, most ?? mostChunks)
    guard count > most else { return }
    throw Failure(
      .protocolViolation,
      "\(size) bytes for `\(destination.text)` are \(count) chunks of \(chunk) bytes, and \(most) can be kept: set a larger `chunk_size`",
      class: .permanent)
  }

  private func chosen(_ warn: (String, String?) -> Void) -> Int64 {
    var wanted = settings.chunkSize.bytes(
      of: size, chosen: begun, rate: rate, least: abilities.minimumChunk, most: abilities.maximumChunks)
    if settings.chunkSize == .auto, begun == nil, let limit { wanted = min(wanted, limit) }
    if let mostHeld, abilities.minimumChunk <= mostHeld, mostHeld < wanted {
      if settings.chunkSize != .auto, mostHeld < size {
        warn(
          "chunks are \(mostHeld) bytes in place of \(wanted): they are held whole before they are sent",
          "set `chunk_size: \(mostHeld)` to say so yourself")
      }
      wanted = mostHeld
    }
    if let most = mostUnderBudget, most < min(wanted, size) {
      warn("chunks are \(most) bytes in place of \(wanted): a spent budget throws away those under way", nil)
      wanted = most
    }
    let taken = abilities.chunkSize(wanted: wanted, of: size)
    if taken != wanted, size > min(taken, wanted), abilities.minimumChunk < .max {
      warn(
        "chunks are \(taken) bytes, as the protocol demands, in place of \(wanted)",
        "set `chunk_size: \(taken)` to say so yourself")
    }
    return taken
  }

  /// The smaller one of the policy's and the job's.
  private var budget: Budget? { Budget.least(settings.policy.budget, limits.budget) }

  /// How often a budget pays for each byte.
  private var ways: Int64 { isRelayed ? 2 : 1 }

  /// A chunk is held whole or not at all: of those under way when a budget is spent nothing is left, so that they must
  /// be a part of it together.
  private var mostUnderBudget: Int64? {
    guard let budget, abilities.order != .byOffset, abilities.minimumChunk < .max else { return nil }
    let inFlight = Int64(abilities.isParallel ? max(1, settings.policy.chunksInFlight) : 1)
    let own = settings.policy.transfers.number ?? ConcurrencyWindow.start
    let transfers = Int64(max(1, min(own, limits.transfers?.number ?? .max)))
    return max(Self.least, budget.bytes / (2 * inFlight * transfers))
  }
}
