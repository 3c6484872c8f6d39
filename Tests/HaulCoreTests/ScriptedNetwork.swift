import Dispatch
import Endpoints
import HTTPClient
import JobModel
import Locks

/// A network that a closure answers for; nil where nobody does.
final class ScriptedNetwork: Transport {
  /// As the network thread is one.
  private final class Queue: SerialExecutor, TaskExecutor {
    private let queue = DispatchQueue(label: "scripted-network")

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async {
        job.runSynchronously(
          isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: self.asUnownedTaskExecutor())
      }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
  }

  let executor: any SerialExecutor & TaskExecutor = Queue()
  private let answer: @Sendable (WebURL) -> (status: Int, body: String)?
  private let log = Locked<[WebURL]>([])

  init(_ answer: @escaping @Sendable (WebURL) -> (status: Int, body: String)?) { self.answer = answer }

  /// What was asked for, answered or not.
  var asked: [WebURL] { log.withLock { $0 } }

  nonisolated(nonsending) func sleep(seconds: Double) async throws { await Task.yield() }

  nonisolated(nonsending) func send(_ request: WireRequest, sink: any BodyWriter) async throws {
    let url = request.url
    await Task.yield()
    log.withLock { $0.append(url) }
    guard let (status, body) = answer(url) else {
      throw TransportError(Failure(.networkUnreachable, "scripted"))
    }
    try sink.head(ResponseHead(status: status, headers: HeaderList()))
    try Array(body.utf8).withUnsafeBytes { try sink.body($0) }
  }
}

/// A bucket that lists its names in the order in which it has them, two a page. Names behind `start-after` are told by their
/// bytes, and all others are left out.
struct ListedBucket {
  let names: [String]

  static func query(_ url: WebURL) -> [String: String] {
    var query: [String: String] = [:]
    for pair in (url.query ?? "").split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1).map { WebURL.decode($0) }
      query[parts[0]] = parts.count > 1 ? parts[1] : ""
    }
    return query
  }

  func answer(_ url: WebURL) -> (status: Int, body: String) {
    let query = Self.query(url)
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
    let end = query["delimiter"] == nil ? min(found.count, first + 2) : found.count
    for name in found[first..<end] {
      text += "<Contents><Key>\(WebURL.encode(name))</Key><Size>1</Size></Contents>"
    }
    let isCut = end < found.count
    if isCut { text += "<NextContinuationToken>\(end):\(start)</NextContinuationToken>" }
    return (
      200,
      "<ListBucketResult><IsTruncated>\(isCut)</IsTruncated><EncodingType>url</EncodingType>\(text)</ListBucketResult>"
    )
  }
}
