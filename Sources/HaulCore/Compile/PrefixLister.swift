import Digests
import Dispatch
import Endpoints
import HTTPClient
import JobLedger
import JobModel
import Planner
import Posix
import Transfers

/// Lists remote prefixes before a job is compiled, into the ledger: no listing is ever held whole, and what a killed compile
/// was told is not asked for again.
///
/// Its caller waits for all pages, so it has to run on a thread of its own (`DedicatedThread`).
struct PrefixLister {
  /// Names that are read from the ledger at a time.
  private static let batch = 1000

  private let setUp: EngineSetUp
  private let listing: RemoteListing
  private let ledger: JobLedger
  private let console: Console
  private let waits: Bool?

  /// nil where the job has nothing to list.
  ///
  /// - Parameter waits: whether a policy's network is waited for; nil where a listing does not ask for it.
  init?(
    _ job: Job, stateFolder: String, tokensIn tokens: String? = nil, ledger: JobLedger, waits: Bool? = nil,
    _ context: CommandContext
  ) throws {
    let lists = job.templates.contains { if case .prefix = $0.fanOut { true } else { false } }
    guard lists else { return nil }
    setUp = try EngineSetUp(
      job: job, context, stateFolder: stateFolder, tokensIn: tokens, ledger: ledger,
      writer: LedgerWriter(ledger) { _ in }, run: 0,
      board: ProgressRegistry(), events: context.console.print)
    listing = RemoteListing(setUp.client)
    self.ledger = ledger
    (console, self.waits) = (context.console, waits)
  }

  func shutDown() { setUp.close() }

  /// Lists every prefix that the job names.
  ///
  /// - Returns: why some could not be listed, by the id of their transfer, where the rest of the job goes on without them.
  func listAll(_ job: Job, run: RunValues) throws -> [String: Failure] {
    var listed: Set<String> = []
    var left: [String: Failure] = [:]
    for template in job.templates {
      guard case .prefix = template.fanOut else { continue }
      var one = job
      one.templates = [template]
      // What it needs may be no prefix; and nothing lies below it before it is listed.
      one.templates[0].needs = []
      do {
        _ = try JobPlanner.expand(
          one, run: run, uuid: { $0 },
          lister: { endpoint, prefix, settings, _ in
            let key = try Self.key(endpoint, prefix, settings)
            guard !listed.contains(key) else { return }
            try waitForNetwork(of: prefix, settings.policy)
            let (number, parts) = try ledger.listing(key, of: prefix, now: SystemClock.now)
            let walk = ListingWalk(
              ledger: ledger, listing: listing, endpoint: endpoint, prefix: prefix, settings: settings,
              number: number)
            try wait { try await walk.run(parts) }
            // Not before: who lists the same below another id may not take a part of it for all.
            listed.insert(key)
          }, each: { _ in })
      } catch let failure as Failure
        where Self.goesOn(job, without: template) && left.count + 1 < job.templates.count
      {
        left[template.id] = failure
      }
    }
    return left
  }

  /// Waits while the policy's interface is missing or the connection is metered: a listing's pages cost as files do.
  ///
  /// - Throws: `NETWORK_UNREACHABLE` where that is not to be waited for.
  private func waitForNetwork(of prefix: String, _ policy: EffectivePolicy) throws {
    guard let waits else { return }
    var isTold = false
    while let reason = setUp.network.hold(policy) {
      let why = setUp.network.message(reason, policy) ?? reason.rawValue
      guard waits else { throw Failure(.networkUnreachable, "`\(prefix)` is not listed now: \(why)") }
      if !isTold { console.note("`\(prefix)` is not listed yet: \(why)") }
      isTold = true
      try wait { try await Task.sleep(for: .milliseconds(500)) }
    }
  }

  /// Whether nothing else of the job waits for what a template comes to.
  private static func goesOn(_ job: Job, without template: TransferTemplate) -> Bool {
    job.templates.flatMap(\.needs).allSatisfy { need in
      guard let literal = need.text.literal.map(PercentEncoding.need), let pattern = try? GlobPattern(literal)
      else {
        return false
      }
      return !pattern.matches(template.id) && !pattern.mayMatch(below: template.id)
    }
  }

  /// Gives the names that were listed, in the order of their bytes.
  func list(
    _ endpoint: Endpoint, _ prefix: String, _ settings: TransferSettings,
    _ entry: (ListedPage.Entry) throws -> Void
  ) throws {
    let key = try Self.key(endpoint, prefix, settings)
    guard let number = try ledger.listingNumber(key) else {
      throw Failure(.internal, "`\(prefix)` was not listed before the plan was made of it")
    }
    var last: String?
    while true {
      let names = try ledger.listed(number, after: last, most: Self.batch)
      for name in names {
        try entry(
          ListedPage.Entry(
            path: name.path, size: name.size, modified: name.modified, nonFile: name.nonFile))
      }
      guard names.count == Self.batch else { return }
      last = names.last?.path
    }
  }

  /// What is listed: the store, as who asks for it sees it, and the prefix.
  private static func key(_ endpoint: Endpoint, _ prefix: String, _ settings: TransferSettings) throws
    -> String
  {
    // Secrets are named here, or masked.
    let account = "\(endpoint.authentication) \(settings.headers)"
    let facts = StoreIdentity.facts(endpoint, .download, .current) + [endpoint.name, account, prefix]
    return try Digest.hex(of: Array(facts.joined(separator: "\0").utf8), .sha256)
  }

  private func wait(_ body: @escaping @Sendable () async throws -> Void) throws {
    let result = OnceValue<Result<Void, any Error>>()
    let done = DispatchSemaphore(value: 0)
    Task {
      do { result.set(.success(try await body())) } catch { result.set(.failure(error)) }
      done.signal()
    }
    done.wait()
    guard let end = result.value else { throw Failure(.internal, "a listing ended without a result") }
    try end.get()
  }
}
