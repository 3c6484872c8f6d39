import Dispatch
import Endpoints
import HTTPClient
import JobLedger
import JobModel
import Planner
import Posix
import Transfers

/// Lists remote prefixes while a job is compiled: page by page, so that no listing is ever held whole.
///
/// The planner waits for each page, so it has to run on a thread of its own (`DedicatedThread`).
struct PrefixLister {
  private let setUp: EngineSetUp
  private let listing: RemoteListing

  /// nil where the job has nothing to list.
  init?(
    _ job: Job, stateFolder: String, tokensIn tokens: String? = nil, ledger: JobLedger,
    _ context: CommandContext
  ) throws {
    let lists = job.templates.contains { if case .prefix = $0.fanOut { true } else { false } }
    guard lists else { return nil }
    setUp = try EngineSetUp(
      job: job, context, stateFolder: stateFolder, tokensIn: tokens, ledger: ledger,
      writer: LedgerWriter(ledger) { _ in }, run: 0,
      board: ProgressRegistry(), events: { _ in })
    listing = RemoteListing(setUp.client)
  }

  func shutDown() { setUp.shutDown() }

  func list(
    _ endpoint: Endpoint, _ prefix: String, _ settings: TransferSettings,
    _ entry: (ListedPage.Entry) throws -> Void
  ) throws {
    var mark: String?
    repeat {
      let page = try wait { [listing, mark] in
        try await listing.page(mark, of: prefix, at: endpoint, settings: settings)
      }
      for found in page.entries { try entry(found) }
      mark = page.next
    } while mark != nil
  }

  private func wait(_ body: @escaping @Sendable () async throws -> ListedPage) throws -> ListedPage {
    let result = OnceValue<Result<ListedPage, any Error>>()
    let done = DispatchSemaphore(value: 0)
    Task {
      do { result.set(.success(try await body())) } catch { result.set(.failure(error)) }
      done.signal()
    }
    done.wait()
    guard let page = result.value else { throw Failure(.internal, "a listing ended without a result") }
    return try page.get()
  }
}
