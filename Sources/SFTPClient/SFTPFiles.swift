import Endpoints
import JobModel

/// The steps of SFTP on one connection, with what their refusals mean.
struct SFTPFiles: Sendable {
  let connection: SFTPConnection
  /// For messages.
  let place: String
  /// Seconds for an answer; and while bytes flow, without any.
  let timeout: Double
  let stall: Double

  /// Requests for a folder's names that are under way at once.
  private static let ahead = 4
  private static let mostNames = 4_000_000
  /// Bytes of all names of a folder: one may be as long as a packet.
  private static let mostNameBytes = 256 << 20

  /// - Throws: `Failure` where the server refuses, else the answer is another than can be.
  private nonisolated(nonsending) func ask(_ request: SFTPRequest, _ what: String) async throws -> SFTPReply {
    try refused(try await connection.ask(request, within: timeout), what)
  }

  func refused(_ reply: SFTPReply, _ what: String) throws(Failure) -> SFTPReply {
    if case .status(let status) = reply, status.code != .ok {
      throw SFTPFailure.of(status, doing: what, at: place)
    }
    return reply
  }

  func confused(_ what: String) -> Failure {
    Failure(.protocolViolation, "\(place): the server answered with something else when asked to \(what)")
  }

  nonisolated(nonsending) func done(_ request: SFTPRequest, _ what: String) async throws {
    guard case .status = try await ask(request, what) else { throw confused(what) }
  }

  nonisolated(nonsending) func attributes(_ request: SFTPRequest, _ what: String) async throws
    -> SFTPAttributes
  {
    guard case .attributes(let attributes) = try await ask(request, what) else { throw confused(what) }
    return attributes
  }

  /// What stands there; nil where nothing does.
  nonisolated(nonsending) func found(_ request: SFTPRequest) async throws -> SFTPAttributes? {
    do { return try await attributes(request, "look") } catch let failure as Failure
      where failure.code == .notFound
    { return nil }
  }

  /// Opens a file or a folder. Where its task is cancelled meanwhile, the server is told to close it again.
  nonisolated(nonsending) func open(_ request: SFTPRequest, _ what: String) async throws -> SFTPHandle {
    let answer = try connection.post(request, within: timeout)
    do {
      guard case .handle(let handle) = try refused(try await answer.value(), what) else {
        throw confused(what)
      }
      return SFTPHandle(handle, connection, timeout)
    } catch is CancellationError {
      answer.leave { [connection, timeout] reply in
        if case .handle(let handle) = reply { SFTPHandle(handle, connection, timeout).close() }
      }
      throw CancellationError()
    }
  }

  /// All names in a folder; none where there is no such folder.
  nonisolated(nonsending) func names(in folder: String) async throws -> [SFTPReply.Name] {
    let handle: SFTPHandle
    do { handle = try await open(.openFolder(folder), "list `\(folder)`") } catch let failure as Failure
      where failure.code == .notFound
    { return [] }
    defer { handle.close() }
    var names: [SFTPReply.Name] = []
    var (bytes, empties) = (0, 0)
    var answers = try (0..<Self.ahead).map { _ in try connection.post(.readFolder(handle.id), within: timeout)
    }[...]
    while let answer = answers.popFirst() {
      let reply = try await answer.value()
      if case .status(let status) = reply, status.code == .end { return names }
      guard case .names(let more) = try refused(reply, "list `\(folder)`") else {
        throw confused("list `\(folder)`")
      }
      // One name or more, or a status (draft-ietf-secsh-filexfer-02, 6.7): a few are passed over, they might go on for ever.
      empties = more.isEmpty ? empties + 1 : 0
      guard empties < 16 else { throw confused("list `\(folder)`") }
      names += more
      bytes += more.reduce(0) { $0 + $1.bytes.count }
      guard names.count <= Self.mostNames, bytes <= Self.mostNameBytes else {
        throw Failure(
          .protocolViolation,
          "\(place): `\(folder)` has more than \(Self.mostNames) names, or more than \(Self.mostNameBytes) bytes of them",
          class: .permanent)
      }
      answers.append(try connection.post(.readFolder(handle.id), within: timeout))
    }
    return names
  }
}

extension SFTPFiles {
  /// Looks at each entry of which the folder's own listing does not tell what it is. Where the server does not tell it at all,
  /// what can be opened as a folder is one.
  nonisolated(nonsending) func tellKinds(
    of names: [SFTPReply.Name], in folder: SFTPPath
  ) async throws -> [SFTPReply.Name] {
    var names = names
    for index in names.indices where names[index].attributes.kind == nil {
      let name = names[index].bytes
      guard name != [0x2E], name != [0x2E, 0x2E] else { continue }
      let entry = folder.child(String(decoding: name, as: UTF8.self)).text
      do {
        names[index].attributes.mode = try await found(.linkStat(entry))?.mode
        guard names[index].attributes.mode == nil else { continue }
        try await open(.openFolder(entry), "look at `\(entry)`").close()
        names[index].attributes.mode = 0o040000
      } catch let failure as Failure where ![.networkUnreachable, .timeout].contains(failure.code) {
        // A file, as far as anything tells.
      }
    }
    return names
  }
}

/// An open file or folder at a server.
struct SFTPHandle: Sendable {
  let id: SFTPRequest.Handle
  let connection: SFTPConnection
  private let timeout: Double

  init(_ id: SFTPRequest.Handle, _ connection: SFTPConnection, _ timeout: Double) {
    (self.id, self.connection, self.timeout) = (id, connection, timeout)
  }

  /// Closes it without waiting. Where the connection is gone, so is the handle.
  func close() { _ = try? connection.post(.close(id), within: timeout) }
}
