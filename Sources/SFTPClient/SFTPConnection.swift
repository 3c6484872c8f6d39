import Endpoints
import JobModel
import Locks
import SSH

/// One SSH connection with an SFTP server at its other end. Ends with its last user.
final class SFTPConnection: Sendable {
  private let mux: SFTPMux
  private let link: SSHLink
  let extensions: Set<SFTPExtension>
  /// Bytes that one read, and one write, may have.
  let readLength: Int
  let writeLength: Int
  /// Bodies that are read here: they share what may be under way.
  private let bodies = Locked(0)
  private let everyBody: OpenBodies

  /// Bytes that are under way at once, of all bodies that are read, and of all that are written: the bandwidth of a far line, and
  /// the memory that they take.
  static let window: Int64 = 4 << 20

  /// What all servers take (draft-ietf-secsh-filexfer-02, 3).
  private static let usual = 32 << 10
  /// Within `SFTPFrames.longest`, with room for what goes along.
  private static let most = 255 << 10

  private init(
    _ mux: SFTPMux, _ link: SSHLink, _ extensions: Set<SFTPExtension>, _ everyBody: OpenBodies, read: Int,
    write: Int
  ) {
    (self.mux, self.link, self.extensions, self.everyBody) = (mux, link, extensions, everyBody)
    (readLength, writeLength) = (read, write)
  }

  /// - Parameters:
  ///   - place: the origin, for messages.
  ///   - everyBody: of all connections.
  static func open(
    _ target: SSHTarget, as login: SSHLogin, place: String, _ everyBody: OpenBodies,
    trust: @escaping @Sendable (_ hostKey: [UInt8]) throws -> Void
  ) async throws -> SFTPConnection {
    let mux = SFTPMux(place)
    let link = try await SSHLink.open(target, as: login, subsystem: "sftp", receiver: mux, trust: trust)
    mux.begin(limit: target.stepTimeout)
    link.send(SFTPRequest.beginning)
    guard case .version(let number, let extensions) = try await mux.version.value(), number >= 3 else {
      throw Failure(
        .protocolViolation, "\(place): the server does not speak SFTP version 3", class: .permanent)
    }
    let plain = SFTPConnection(mux, link, extensions, everyBody, read: usual, write: usual)
    guard extensions.contains(.limits),
      case .extended(let bytes) = try await plain.ask(.limits, within: target.stepTimeout)
    else { return plain }
    return SFTPConnection(plain, limits: bytes)
  }

  /// The same with the lengths that the server names; 0 stands for no limit of its own.
  private convenience init(_ plain: SFTPConnection, limits bytes: [UInt8]) {
    var reader = SSHBytes(bytes)
    func length(_ told: UInt64?) -> Int {
      guard let told, told > 0 else { return Self.usual }
      return min(Self.most, max(1024, Int(clamping: told)))
    }
    _ = reader.uint64()
    let (read, write) = (length(reader.uint64()), length(reader.uint64()))
    self.init(plain.mux, plain.link, plain.extensions, plain.everyBody, read: read, write: write)
  }

  func bodyBegins() {
    bodies.withLock { $0 += 1 }
    everyBody.begin()
  }
  func bodyEnds() {
    bodies.withLock { $0 -= 1 }
    everyBody.end()
  }
  /// What one body that is read may have under way.
  var share: Int64 { min(Self.window / Int64(max(1, bodies.withLock { $0 })), everyBody.share) }

  var isUsable: Bool { mux.failure == nil }
  /// Seconds for which requests have waited and nothing has come.
  var silence: Double { mux.silence }

  /// Sends a request; its answer is waited for by whoever wants it.
  func post(_ request: SFTPRequest, within limit: Double) throws -> SFTPAnswer {
    try post(request, bytes: 0, within: limit)
  }

  private func post(_ request: SFTPRequest, bytes: Int, within limit: Double) throws -> SFTPAnswer {
    let (id, answer) = try mux.enter(limit: limit, bytes: bytes)
    link.send(request.packet(id))
    return answer
  }

  /// Sends a write once there is room for its bytes.
  nonisolated(nonsending) func write(
    _ bytes: [UInt8], at position: Int64, to handle: SFTPRequest.Handle, within limit: Double
  ) async throws -> SFTPAnswer {
    try await mux.window.enter(bytes.count)
    do { return try post(.write(handle, at: position, bytes), bytes: bytes.count, within: limit) } catch {
      mux.window.leave(bytes.count)
      throw error
    }
  }

  nonisolated(nonsending) func ask(_ request: SFTPRequest, within limit: Double) async throws -> SFTPReply {
    try await post(request, within: limit).value()
  }
}
