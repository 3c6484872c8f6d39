import Dispatch
import Endpoints
import HTTPClient
import JobModel
import Locks

/// An S3 of a script: it lists its names in the order in which it has them, two a page.
final class ListedStore: Transport {
  /// As the network thread is one.
  private final class Queue: SerialExecutor, TaskExecutor {
    private let queue = DispatchQueue(label: "listed-store")

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async {
        job.runSynchronously(
          isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: self.asUnownedTaskExecutor())
      }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
  }

  static let page = 2

  let executor: any SerialExecutor & TaskExecutor = Queue()
  private let names: [String]
  private let log = Locked<[[String: String]]>([])
  /// Requests that are answered before the network is gone.
  let answers: Locked<Int>

  init(_ names: [String], answers: Int = .max) {
    self.names = names
    self.answers = Locked(answers)
  }

  /// The queries that were answered.
  var queries: [[String: String]] { log.withLock { $0 } }

  nonisolated(nonsending) func sleep(seconds: Double) async throws { await Task.yield() }

  nonisolated(nonsending) func send(_ request: WireRequest, sink: any BodyWriter) async throws {
    await Task.yield()
    let isThere = answers.withLock { left in
      left -= 1
      return left >= 0
    }
    guard isThere else { throw TransportError(Failure(.networkUnreachable, "scripted")) }
    var query: [String: String] = [:]
    for pair in (request.url.query ?? "").split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1).map { WebURL.decode($0) }
      query[parts[0]] = parts.count > 1 ? parts[1] : ""
    }
    log.withLock { [query] in $0.append(query) }
    try sink.head(ResponseHead(status: 200, headers: HeaderList()))
    try Array(answer(query).utf8).withUnsafeBytes { try sink.body($0) }
  }

  /// Names behind `start-after` are told by their bytes, and all others are left out.
  private func answer(_ query: [String: String]) -> String {
    let prefix = query["prefix"] ?? ""
    // A mark says which name comes next, and what the listing began behind.
    let mark = query["continuation-token"]?.split(separator: ":", maxSplits: 1).map(String.init) ?? []
    let start = mark.count > 1 ? mark[1] : query["start-after"] ?? ""
    var found = names.filter { $0.hasPrefix(prefix) && ByteText(start) < ByteText($0) }
    var text = ""
    if query["delimiter"] != nil {
      let folders = found.compactMap { name -> String? in
        let parts = name.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false)
        return parts.count > 1 ? prefix + parts[0] + "/" : nil
      }
      found.removeAll { $0.dropFirst(prefix.count).contains("/") }
      for folder in Set(folders) {
        text += "<CommonPrefixes><Prefix>\(WebURL.encode(folder))</Prefix></CommonPrefixes>"
      }
    }
    let first = mark.first.flatMap { Int($0) } ?? 0
    let end = query["delimiter"] == nil ? min(found.count, first + Self.page) : found.count
    for name in found[first..<end] {
      text += "<Contents><Key>\(WebURL.encode(name))</Key><Size>1</Size></Contents>"
    }
    let isCut = end < found.count
    if isCut { text += "<NextContinuationToken>\(end):\(start)</NextContinuationToken>" }
    return
      "<ListBucketResult><IsTruncated>\(isCut)</IsTruncated><EncodingType>url</EncodingType>\(text)</ListBucketResult>"
  }
}
