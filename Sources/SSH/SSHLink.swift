import Glibc
import Locks
import Posix

/// Hears what comes from the server. Called on the connection's own thread; what it throws ends the connection.
package protocol SSHReceiver: AnyObject, Sendable {
  func received(_ bytes: UnsafeRawBufferPointer) throws
  /// Called about once a second.
  func tick() throws
  /// Nothing comes any more.
  func ended(_ fault: any Error)
}

/// A connection to a server's subsystem, on a thread of its own: bytes out, bytes in.
///
/// libssh2's sessions are used on one thread only. It is asked never to block: the thread waits in poll(2) alone, where each
/// `send` wakes it, and the end of the link.
package final class SSHLink: Sendable {
  private let wake: Wake
  private let outbox = Locked(Outbox())

  private init() throws { wake = try Wake() }

  deinit { wake.stop() }

  /// Connects, proves the server, logs in, and starts the subsystem. Ends at once where its task is cancelled.
  ///
  /// - Parameter trust: judges the server's public key, before anything is sent that the user gave; throws what is wrong.
  package static func open(
    _ target: SSHTarget, as login: SSHLogin, subsystem: String, receiver: any SSHReceiver,
    trust: @escaping @Sendable (_ hostKey: [UInt8]) throws -> Void
  ) async throws -> SSHLink {
    let link = try SSHLink()
    let (wake, outbox) = (link.wake, link.outbox)
    // Keeps the link until it is given away; the thread keeps its parts alone, and ends with its user.
    let opening = Locked<(CheckedContinuation<SSHLink, any Error>, SSHLink)?>(nil)
    let take: @Sendable () -> (CheckedContinuation<SSHLink, any Error>, SSHLink)? = {
      opening.withLock { waiting in
        defer { waiting = nil }
        return waiting
      }
    }
    let longest = target.longestOpening
    let watch = Task {
      try await Task.sleep(for: .seconds(longest))
      guard let (waiting, _) = take() else { return }
      wake.stop()
      waiting.resume(throwing: SSHFault.timedOut(.login, seconds: longest))
    }
    defer { watch.cancel() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        opening.withLock { $0 = (continuation, link) }
        DedicatedThread.start(name: "haul-ssh") {
          SSHWorker(target: target, wake: wake, outbox: outbox, receiver: receiver)
            .run(login, subsystem, trust) { result in
              guard let (waiting, link) = take() else { return wake.stop() }
              waiting.resume(with: result.map { link })
            }
        }
        if Task.isCancelled { take()?.0.resume(throwing: CancellationError()) }
      }
    } onCancel: {
      wake.stop()
      take()?.0.resume(throwing: CancellationError())
    }
  }

  package func send(_ bytes: [UInt8]) {
    outbox.withLock { $0.parts.append(bytes) }
    wake.signal()
  }
}

/// What waits to be sent.
struct Outbox: Sendable {
  var parts: [[UInt8]] = []

  /// Takes the first parts: as many as have so many bytes together, and one at least.
  mutating func take(_ most: Int) -> [[UInt8]] {
    var (count, bytes) = (0, 0)
    while count < parts.count, count == 0 || bytes + parts[count].count <= most {
      bytes += parts[count].count
      count += 1
    }
    let taken = Array(parts[..<count])
    parts.removeFirst(count)
    return taken
  }
}
