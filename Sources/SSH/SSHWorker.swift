import Glibc
import Locks
import Posix

/// The thread of one connection.
struct SSHWorker {
  /// Seconds between two ticks.
  private static let pace = 1.0
  /// Bytes that are read or written at once.
  private static let piece = 256 << 10

  let target: SSHTarget
  let wake: Wake
  let outbox: Locked<Outbox>
  let receiver: any SSHReceiver

  /// Works until the connection ends.
  ///
  /// - Parameter opened: told once, that the subsystem is there, or why it is not.
  func run(
    _ login: SSHLogin, _ subsystem: String, _ trust: (_ hostKey: [UInt8]) throws -> Void,
    opened: (Result<Void, any Error>) -> Void
  ) {
    do {
      let session: SSHSession
      let channel: SSHChannel
      do {
        session = try connect()
        try trust(try session.hostKey())
        try session.login(login, timeout: target.stepTimeout)
        channel = try session.channel(subsystem, timeout: target.stepTimeout)
      } catch {
        opened(.failure(error))
        return
      }
      opened(.success(()))
      try pump(session, channel)
    } catch {
      receiver.ended(error)
    }
  }

  private func connect() throws -> SSHSession {
    let deadline = SystemClock.uptime + target.connectTimeout
    let session = try SSHSession(try Dialer(target: target, wake: wake).connect(until: deadline), wake)
    try session.handshake(target.hostKeyTypes, until: deadline, timeout: target.connectTimeout)
    return session
  }

  /// What libssh2 has begun and not ended: it is to be called again for that before anything else.
  private enum Unfinished { case nothing, reading, writing }

  private func pump(_ session: SSHSession, _ channel: SSHChannel) throws {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.piece, alignment: 16)
    defer { buffer.deallocate() }
    var sending: [UInt8] = []
    var sent = 0
    var unfinished = Unfinished.nothing
    var nextTick = SystemClock.uptime + Self.pace
    while true {
      guard !wake.isStopped else { throw SSHFault.stopped }
      var hasMoved = false
      if unfinished != .reading {
        if sent == sending.count { (sending, sent) = (take(), 0) }
        unfinished = .nothing
        while sent < sending.count {
          let count = try sending.withUnsafeBytes { try channel.write(.init(rebasing: $0[sent...])) }
          guard let count else {
            if session.isSendBlocked { unfinished = .writing }
            break
          }
          sent += count
          hasMoved = true
          if sent == sending.count { (sending, sent) = (take(), 0) }
        }
      }
      if unfinished != .writing {
        unfinished = .nothing
        var left = 64
        while left > 0, let count = try channel.read(into: buffer) {
          try receiver.received(.init(rebasing: buffer[..<count]))
          hasMoved = true
          left -= 1
        }
        if left > 0, session.isSendBlocked { unfinished = .reading }
      }
      let now = SystemClock.uptime
      if now >= nextTick {
        try receiver.tick()
        nextTick = now + Self.pace
      }
      // What was read may have been the server's word that it takes more.
      let canSend = sent < sending.count && unfinished == .nothing && channel.hasRoom
      if !hasMoved, !canSend { try session.wait(seconds: nextTick - now, onlySends: unfinished == .writing) }
    }
  }

  /// What waits to be sent first, as one run of bytes, which are there twice meanwhile: libssh2 cuts it into packets.
  private func take() -> [UInt8] {
    let parts = outbox.withLock { $0.take(Self.piece) }
    guard parts.count > 1 else { return parts.first ?? [] }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(parts.reduce(0) { $0 + $1.count })
    // Piece by piece: an array of a joined sequence is made byte by byte.
    for part in parts { bytes += part }
    return bytes
  }
}
