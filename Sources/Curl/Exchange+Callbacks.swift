import CCurl
import Glibc
import Posix

/// What libcurl calls while a transfer runs. A thrown error is kept and the transfer stopped.
extension Exchange {
  static let onHeader: haul_curl_data = { bytes, size, count, context in
    guard let exchange = Exchange.from(context) else { return 0 }
    return exchange.header(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
  }

  static let onBody: haul_curl_data = { bytes, size, count, context in
    guard let exchange = Exchange.from(context) else { return 0 }
    return exchange.body(UnsafeRawBufferPointer(start: bytes, count: size * count))
  }

  static let onRead: haul_curl_data = { bytes, size, count, context in
    guard let exchange = Exchange.from(context) else { return Int(CURL_READFUNC_ABORT) }
    return exchange.read(UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
  }

  static let onSeek: haul_curl_seek = { context, offset, origin in
    guard let exchange = Exchange.from(context), offset == 0, origin == 0 else {
      return Int32(CURL_SEEKFUNC_CANTSEEK)
    }
    return exchange.rewind() ? Int32(CURL_SEEKFUNC_OK) : Int32(CURL_SEEKFUNC_FAIL)
  }

  static let onProgress: haul_curl_progress = { context, _, _, _, uploaded in
    guard let exchange = Exchange.from(context) else { return 0 }
    exchange.bytesUploaded = max(exchange.bytesUploaded, Int64(uploaded))
    return 0
  }

  /// A socket before it connects: only then do a window and a segment size count from the first byte.
  static let onSocket: haul_curl_sockopt = { context, socket, _ in
    let options = Exchange.from(context)?.request.options
    func set(_ level: Int32, _ name: Int32, _ bytes: Int?) {
      guard let bytes else { return }
      var value = Int32(clamping: bytes)
      setsockopt(socket, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }
    set(SOL_SOCKET, SO_RCVBUF, options?.receiveBuffer)
    set(Int32(IPPROTO_TCP), TCP_MAXSEG, options?.segmentSize)
    return Int32(CURL_SOCKOPT_OK)
  }

  var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  static func from(_ context: UnsafeMutableRawPointer?) -> Exchange? {
    context.map { Unmanaged<Exchange>.fromOpaque($0).takeUnretainedValue() }
  }

  private func header(_ line: UnsafeRawBufferPointer) -> Bool {
    receivedBytes = true
    headBytes += line.count
    guard headBytes <= Self.mostHeadBytes else {
      failure = CurlError(
        kind: .protocolViolation,
        message: "the answer's heads and trailers exceed \(Self.mostHeadBytes) bytes", receivedBytes: true)
      return false
    }
    // What follows the head is a trailer.
    if isHeadDelivered { return true }
    if line.starts(with: "HTTP/".utf8) {
      headers = CurlHeaders()
    } else if line.allSatisfy({ $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }) {
      return headEnded()
    } else {
      headers.add(line: line)
    }
    return true
  }

  private func headEnded() -> Bool {
    status = easy?.long(CURLINFO_RESPONSE_CODE) ?? 0
    // An interim answer (RFC 9110, 15.2) is none yet: the time limits run on, however many come.
    if status < 200 { return true }
    // libcurl answers a 417 to its own question by sending again: final only once its body comes.
    if status == 417, request.options.expectContinue { return true }
    return deliverHead()
  }

  @discardableResult func deliverHead() -> Bool {
    isHeadDelivered = true
    // libcurl reads `0x10` as 0, and passes over what is too great.
    if let length = headers.badContentLength {
      failure = CurlError(
        kind: .protocolViolation, message: "an answer with an invalid Content-Length: `\(length.prefix(40))`",
        receivedBytes: true)
      return false
    }
    // nginx takes a handshake without the certificate that it asked for, and then refuses the request.
    if status == 400, let easy, haul_curl_was_asked_for_certificate(easy.pointer) != 0 {
      failure = CurlError(
        kind: .tls(.clientCertificate), message: "HTTP 400 from a server that asks for one",
        receivedBytes: true)
      return false
    }
    return kept { try sink.head(status: status, headers: headers) }
  }

  private func body(_ bytes: UnsafeRawBufferPointer) -> Int {
    receivedBytes = true
    if !isHeadDelivered, !deliverHead() { return Int(CURL_WRITEFUNC_ERROR) }
    watch.answer(SystemClock.uptime)
    var taken = 0
    let done = kept {
      switch try sink.body(bytes) {
      case .take:
        bytesReceived += Int64(bytes.count)
        taken = bytes.count
      case .pause:
        isPaused = true
        taken = Int(CURL_WRITEFUNC_PAUSE)
      }
    }
    return done ? taken : Int(CURL_WRITEFUNC_ERROR)
  }

  private func read(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    let left = bodyLength - bytesGiven
    guard let source, left > 0 else { return 0 }
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(min(left, Int64(buffer.count)))))
    var given = 0
    let done = kept {
      switch try source.read(into: room) {
      case .bytes(let count):
        guard count > 0 else { throw CurlBodyEnded(expected: bodyLength, given: bytesGiven) }
        given = min(count, room.count)
        bytesGiven += Int64(given)
      case .pause:
        isPaused = true
        given = Int(CURL_READFUNC_PAUSE)
      }
    }
    return done ? given : Int(CURL_READFUNC_ABORT)
  }

  private func rewind() -> Bool {
    bytesSentBefore += bytesUploaded
    bytesUploaded = 0
    bytesGiven = 0
    return kept { try source?.rewind() }
  }

  private func kept(_ call: () throws -> Void) -> Bool {
    do {
      try call()
      return true
    } catch {
      failure = error
      return false
    }
  }
}
