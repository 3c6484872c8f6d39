import HTTPTypes
import HummingbirdCore
import NIOCore
import NIOHTTPTypes

/// Puts an answer on the wire, with the faults that concern what goes out.
struct AnswerWriter {
  /// Bytes that are read from a file at once; the next block is read while one is sent.
  static let block = 512 << 10

  let call: Call
  let answer: Answer
  let pool: BlockingPool
  let channel: any Channel

  func write(_ writer: consuming ResponseWriter) async throws {
    if call.faults[\.loseAnswer] == true { throw ConnectionDropped() }
    let isHead = call.method == .head
    var headers = answer.headers
    headers[.date] = HTTPDate.format(HTTPDate.now)
    headers[.server] = "depot/\(Depot.version)"
    let status = answer.status.code
    if call.faults[\.chunked] != true, status != 204, status != 304 {
      headers[.contentLength] = String(answer.body.count)
    }
    let head = HTTPResponse(status: answer.status, headerFields: headers)
    guard !isHead, hasFaults || answer.body.count > 0 else { return try await writer.writeResponse(head) }
    if case .bytes(let bytes) = answer.body, !hasFaults {
      call.tally.addOut(bytes.count)
      return try await writer.write(response: head, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
    var body: any ResponseBodyWriter = try await writer.writeHead(head)
    try await send(to: &body)
    try await body.finish(nil)
  }

  private var hasFaults: Bool { !call.faults.actions.isEmpty }

  /// The number of body bytes after which the connection is cut, if it is.
  private var cut: Int? {
    let short = call.faults[\.shortBy].map { max(0, answer.body.count - $0) }
    let drop = call.faults[\.dropAfter].flatMap { $0 < answer.body.count ? $0 : nil }
    return [short, drop].compactMap { $0 }.min()
  }

  private func send(to body: inout any ResponseBodyWriter) async throws {
    let count = min(answer.body.count, cut ?? .max)
    var sent = 0
    switch answer.body {
    case .none: break
    case .bytes(let bytes):
      if count > 0 { try await emit(ByteBuffer(bytes: bytes[..<count]), at: &sent, to: &body) }
    case .file(let file, let range):
      let whole = ByteRange(offset: range.offset, count: count)
      var next = read(file, whole, from: 0)
      var leaving: EventLoopFuture<Void>?
      while sent < count {
        let buffer = try await next.value
        // The file was cut short under us: a closed connection is the only honest answer left.
        guard buffer.readableBytes > 0 else { throw ConnectionDropped() }
        next = read(file, whole, from: sent + buffer.readableBytes)
        try await emit(buffer, at: &sent, to: &body)
        // The writer only hands over to the event loop: without this wait a slow client's answer piles up there.
        try await leaving?.get()
        leaving = left()
      }
      try await leaving?.get()
    }
    if cut != nil {
      try await left().get()
      throw ConnectionDropped()
    }
    if let extra = call.faults[\.longBy] {
      try await body.write(ByteBuffer(repeating: UInt8(ascii: "x"), count: extra))
      call.tally.addOut(extra)
    }
  }

  private func read(_ file: OpenFile, _ range: ByteRange, from done: Int) -> Task<ByteBuffer, any Error> {
    let count = min(Self.block, range.count - done)
    guard count > 0 else { return Task { ByteBuffer() } }
    return Task { try await pool.run { try file.read(at: range.offset + done, count: count) } }
  }

  private func emit(_ buffer: ByteBuffer, at sent: inout Int, to body: inout any ResponseBodyWriter)
    async throws
  {
    var buffer = buffer
    BitFlip.apply(call.faults[\.flipBit], to: &buffer, at: sent)
    guard let rate = call.faults[\.rate] else {
      let count = buffer.readableBytes
      try await body.write(buffer)
      sent += count
      call.tally.addOut(count)
      return
    }
    while let piece = buffer.readSlice(length: min(buffer.readableBytes, max(1, rate / 20))),
      piece.readableBytes > 0
    {
      try await body.write(piece)
      sent += piece.readableBytes
      call.tally.addOut(piece.readableBytes)
      try await Task.sleep(for: .seconds(Double(piece.readableBytes) / Double(max(1, rate))))
    }
  }

  /// Comes true when what was written has left for the client. (Not with chunked coding, where an empty part ends
  /// the body.)
  private func left() -> EventLoopFuture<Void> {
    if call.faults[\.chunked] == true { return channel.eventLoop.makeSucceededVoidFuture() }
    return channel.writeAndFlush(HTTPResponsePart.body(ByteBuffer()))
  }
}
