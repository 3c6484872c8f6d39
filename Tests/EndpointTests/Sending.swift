import Endpoints
import JobModel
import TestSupport

/// One upload through a sink, a call at a time, by what the sink says that it can.
struct Sending {
  let sink: any RemoteSink
  let content: Content
  private(set) var source: UploadSource
  /// Nil where the file goes in a single request.
  var session: RemoteSession?
  private var records: [Int: ChunkRecord] = [:]
  private var last: ChunkReceipt?

  /// Opens a session where the kind has some.
  ///
  /// - Parameter change: of what requests say of the file.
  init(
    _ content: Content, to sink: any RemoteSink, chunk: Int64, change: (inout UploadSource) -> Void = { _ in }
  ) async throws {
    (self.sink, self.content) = (sink, content)
    source = content.source(
      chunkSize: sink.traits.abilities(of: content.size).chunkSize(wanted: chunk, of: content.size))
    change(&source)
    guard sink.traits.opensSession(for: source) else { return }
    let facts = try await sink.prepare(source)
    switch try await sink.begin(source, renewing: nil) {
    case .limited(let most, _): throw TestFault("chunks of \(most) bytes at most")
    case .opened(var session, _):
      session.facts.merge(facts) { own, _ in own }
      self.session = session
    }
  }

  /// Goes on with what another process has begun, by its records.
  init(_ begun: Sending, at sink: any RemoteSink) {
    (self.sink, content, source, session) = (sink, begun.content, begun.source, begun.session)
    (records, last) = (begun.records, begun.last)
  }

  var layout: ChunkLayout { ChunkLayout(size: source.size, chunkSize: session?.chunkSize ?? source.size) }

  /// All chunks; the last one first where any order will do.
  var order: [Int] {
    let abilities = sink.traits.abilities(of: source.size)
    guard layout.count > 0 else {
      return session == nil || abilities.emptyFile == .oneEmptyChunk ? [0] : []
    }
    return abilities.isParallel ? (0..<layout.count).reversed() : Array(0..<layout.count)
  }

  /// Sends a chunk once, and compares what the server says of it.
  mutating func put(_ index: Int, isDamaged: Bool = false) async throws {
    let range = source.size == 0 ? 0..<0 : layout.range(index)
    let chunk = content.chunk(index, range, sink.traits.chunkDigests(in: session))
    let receipt = try await sink.put(
      chunk, ContentReader(content, range, isDamaged: isDamaged), session: session, source: source
    ) { [] }.get()
    for (algorithm, theirs) in receipt.digests where chunk.digests[algorithm] ?? theirs != theirs {
      throw Failure(.integrityMismatch, "the server took another \(algorithm.rawValue)", chunk: index)
    }
    last = receipt
    let digest = sink.traits.abilities(of: source.size).chunkDigests.first.flatMap { chunk.digests[$0] }
    records[index] = ChunkRecord(
      offset: range.lowerBound, length: Int64(range.count), digest: digest ?? "", receipt: receipt.token)
  }

  mutating func putAll(but held: Set<Int> = []) async throws {
    for index in order where !held.contains(index) { try await put(index) }
  }

  /// By offset.
  var chunks: [ChunkRecord] { records.values.sorted { $0.offset < $1.offset } }

  func complete() async throws -> UploadedFile {
    guard let session else { return sink.traits.closed(nil, receipt: last) }
    return try await sink.complete(session, source: source, chunks: chunks)
  }

  /// What the server holds, by its own word: chunks that are there whole; nil where it can't be asked.
  func held() async throws -> Set<Int>? {
    guard let session, let told = try await sink.holdings(of: session, source: source) else { return nil }
    let holdings = try told.get()
    guard let offset = holdings.offset else { return Set(holdings.chunks.keys) }
    return Set((0..<layout.count).filter { layout.range($0).upperBound <= offset })
  }
}
