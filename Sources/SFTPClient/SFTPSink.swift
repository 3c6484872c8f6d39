import Digests
import Endpoints
import JobModel

/// A file on an SFTP server as a sink: a session is a temporary file beside the destination.
///
/// All chunks of an upload go over one handle, in the order of the file as far as they are there: some servers take a file from
/// its beginning to its end only (`rclone serve sftp` without a cache).
final class SFTPSink: RemoteSink {
  private let upload: SFTPUpload
  private let access: SFTPAccess
  private var sending: SFTPSending?
  private let line = ChunkLine()
  private var held = AcknowledgedChunks()
  /// The session that `held` tells all of.
  private var known: String?

  init(_ upload: SFTPUpload, _ access: SFTPAccess) { (self.upload, self.access) = (upload, access) }

  deinit { sending?.end() }

  var traits: any UploadTraits { upload }
  var place: String { upload.url.description }
  var origin: String { upload.url.origin }
  func hasty() -> any RemoteSink { SFTPSink(upload, access.hasty) }

  // MARK: What is there

  nonisolated(nonsending) func look(_ effort: LookEffort) async throws -> FoundFile? {
    do {
      let seen: SFTPAttributes?
      switch effort {
      case .once: seen = try await access.once("STAT", moving: nil) { (try await self.seen($0), bytes: 0) }
      case .retried: seen = try await access.call("STAT") { try await self.seen($0) }
      }
      guard let seen else { return .nothing }
      switch seen.kind {
      case .folder?:
        return .failed(Failure(.destinationExists, "\(place) is a folder, where a file is to be"))
      case .link?, .special?: return .failed(Failure(.destinationExists, "\(place) is there, and is no file"))
      case .file?, nil: return .object(SFTPDownload.object(seen))
      }
    } catch let failure as Failure where [.unauthorized, .forbidden].contains(failure.code) {
      return .hidden(failure)
    }
  }

  private nonisolated(nonsending) func seen(_ files: SFTPFiles) async throws -> SFTPAttributes? {
    try await files.found(.stat(upload.file.text))
  }

  nonisolated(nonsending) func inspect(
    _ file: UploadedFile, source: UploadSource, chunks: [ChunkRecord]
  ) async throws -> FoundFile? {
    let found = try await look(.retried)
    guard case .nothing? = found else { return found }
    throw Failure(.notFound, "\(place) took the upload, and then answered that it does not have it")
  }

  nonisolated(nonsending) func readBack(
    _ file: UploadedFile, moved: @escaping (Int) -> Void
  ) async throws -> ReadBack? {
    // What differs from the source is to be found by reading, not by what was acknowledged.
    known = nil
    let digest = try await access.call("READ") { files in
      let handle = try await files.open(
        .open(self.upload.file.text, .read, SFTPAttributes()), "read the file back")
      defer { handle.close() }
      let seen = try await files.attributes(.handleStat(handle.id), "look at the file")
      let digest = try StreamingDigest(.sha256)
      let reading = SFTPReading(files: files, handle: handle, requests: self.access.requests)
      _ = try await reading.read(0..<(seen.bytes ?? 0)) { bytes in
        digest.update(bytes)
        moved(bytes.count)
      }
      return digest.finishHex()
    }
    return ReadBack(place: place, digest: digest)
  }

  // MARK: Sessions

  nonisolated(nonsending) func begin(
    _ source: UploadSource, renewing old: RemoteSession?
  ) async throws -> SessionStart {
    let session = upload.session(for: source, now: access.engine.now())
    guard let temporary = upload.temporary(session) else {
      throw Failure(.internal, "a temporary name has a bad key")
    }
    let isNew = try await access.call("OPEN") { files in
      try await self.create(temporary, session, files)
    }
    if isNew { (held, known) = (AcknowledgedChunks(), session.id) }
    return .opened(session, isReplayed: !isNew)
  }

  /// - Returns: false where the file is there already: an earlier attempt has made it.
  private nonisolated(nonsending) func create(
    _ temporary: SFTPPath, _ session: RemoteSession, _ files: SFTPFiles
  ) async throws -> Bool {
    // Nobody else reads it before it has its own permissions.
    var attributes = SFTPAttributes()
    attributes.mode = upload.attributes(session).mode == nil ? nil : 0o600
    let request = SFTPRequest.open(temporary.text, [.write, .create, .exclusive], attributes)
    let what = "make `\(temporary.name)` beside the destination"
    let handle: SFTPHandle
    do {
      do { handle = try await files.open(request, what) } catch let failure as Failure
        where failure.code == .notFound
      {
        try await FolderPath(upload.file, files).make()
        handle = try await files.open(request, what)
      }
    } catch let failure as Failure where ![.networkUnreachable, .timeout].contains(failure.code) {
      // Version 3 has one code for all that goes wrong.
      guard try await files.found(.linkStat(temporary.text)) != nil else { throw failure }
      return false
    }
    take(SFTPSending(session.id, handle, isNew: true))
    return true
  }

  private func take(_ new: SFTPSending) {
    if sending?.session == new.session { held.loseHandle() }
    sending?.end()
    sending = new
  }

  /// The bytes that are there are read back: nothing else tells which of them the server has kept.
  nonisolated(nonsending) func holdings(
    of session: RemoteSession, source: UploadSource
  ) async throws -> Result<SessionHoldings, Failure>? {
    guard let temporary = upload.temporary(session) else { return .failure(gone(session)) }
    if known == session.id {
      let there = try await access.call("STAT") { try await $0.found(.linkStat(temporary.text)) }
      guard there != nil else { return .failure(try await lost(session)) }
      return .success(SessionHoldings(chunks: held.chunks))
    }
    held = AcknowledgedChunks()
    let layout = ChunkLayout(size: source.size, chunkSize: session.chunkSize)
    let isThere = try await access.call("READ") { files in
      let bytes = HeldBytes(files: files, requests: self.access.requests, layout: layout)
      do {
        return try await bytes.read(temporary, besides: self.held.chunks) { self.held.keep($0, $1) }
      } catch {
        self.held.loseHandle()
        throw error
      }
    }
    guard isThere else { return .failure(try await lost(session)) }
    known = session.id
    return .success(SessionHoldings(chunks: held.chunks))
  }

  /// The temporary name is gone: what was put aside for it is put back, or removed where the upload has its own name already.
  private nonisolated(nonsending) func lost(_ session: RemoteSession) async throws -> Failure {
    try await access.call("RENAME") { try await self.restore(session, $0) }
    return gone(session)
  }

  private nonisolated(nonsending) func restore(_ session: RemoteSession, _ files: SFTPFiles) async throws {
    guard !files.connection.extensions.contains(.replacingRename) else { return }
    try await SFTPClosing.putBack(upload.aside(session), to: upload.file, files)
  }

  private func gone(_ session: RemoteSession) -> Failure {
    Failure(.sessionExpired, "\(place): the upload's temporary name `\(session.id)` is gone")
  }

  // MARK: Chunks

  nonisolated(nonsending) func put(
    _ chunk: UploadChunk, _ body: any ByteReader, session: RemoteSession?, source: UploadSource,
    coming: () -> [Int]
  ) async throws -> Result<ChunkReceipt, Failure> {
    guard let session, let temporary = upload.temporary(session) else {
      throw Failure(.internal, "an upload over SFTP has a session")
    }
    held.drop(chunk.index)
    // Before a connection is waited for: those in line behind it would have them all.
    try await line.take(chunk.index, underWay: coming)
    var (isInLine, age) = (true, 0)
    let receipt: String
    do {
      // Over the handle's own connection: another login would bring nothing.
      receipt = try await access.requests.once("WRITE", access.url, moving: .upload) {
        let sending = try await self.open(session, temporary)
        return (sending, try self.access.lease(of: sending.connection))
      } _: { over in
        let sending = over.0
        age = self.held.age
        let written = try await sending.write(
          chunk, body, self.access.files(sending.connection), self.access.requests)
        isInLine = false
        self.line.leave(chunk.index, isWritten: true)
        try await self.wait(for: written, of: sending, session)
        return (written.receipt, bytes: Int64(chunk.range.count))
      }
    } catch {
      if isInLine { line.leave(chunk.index, isWritten: false) }
      line.forget(chunk.index)
      throw error
    }
    held.keep(chunk.index, HeldChunk(size: Int64(chunk.range.count), receipt: receipt), age: age)
    body.settle(sent: body.length)
    return .success(ChunkReceipt(token: receipt))
  }

  private nonisolated(nonsending) func wait(
    for written: SFTPSending.Written, of sending: SFTPSending, _ session: RemoteSession
  ) async throws {
    do { try await written.wait() } catch let failure as Failure where sending.isRefusedAnew(failure) {
      // It takes files from their beginning only: what it has of this one is of no use.
      _ = try await abort(session)
      throw failure.classed(.sessionGone)
    }
    sending.hasTaken = true
  }

  /// The handle of the session: the one that is open, or a new one.
  private nonisolated(nonsending) func open(
    _ session: RemoteSession, _ temporary: SFTPPath
  ) async throws -> SFTPSending {
    if let sending, sending.session == session.id, sending.connection.isUsable,
      sending.connection.silence <= access.files(sending.connection).stall
    {
      return sending
    }
    let lease = try await access.lease()
    let files = access.files(lease.connection)
    let handle: SFTPHandle
    do {
      handle = try await files.open(
        .open(temporary.text, .write, SFTPAttributes()), "go on with `\(temporary.name)`")
    } catch let failure as Failure {
      switch failure.code {
      case .notFound: throw gone(session)
      // A server that takes files from their beginning only can't go on with one.
      case .forbidden, .protocolViolation, .serverError:
        _ = try await abort(session)
        throw failure.classed(.sessionGone)
      default: throw failure
      }
    }
    let new = SFTPSending(session.id, handle, isNew: false)
    take(new)
    return new
  }

  // MARK: The end

  nonisolated(nonsending) func complete(
    _ session: RemoteSession, source: UploadSource, chunks: [ChunkRecord]
  ) async throws -> UploadedFile {
    guard let temporary = upload.temporary(session) else { throw gone(session) }
    let closing = SFTPClosing(
      upload: upload, session: session, temporary: temporary, size: source.size, mustBeNew: source.mustBeNew,
      remark: access.engine.remark)
    var open = sending?.session == session.id ? sending : nil
    sending = nil
    defer { open?.end() }
    do {
      try await access.call("RENAME") { files in
        if open?.connection.isUsable == false {
          open = nil
          self.held.loseHandle()
        }
        try await self.confirm(temporary, session, source, files)
        // A second try finds its own way.
        let own = open
        open = nil
        do { try await closing.run(files, over: own, access) } catch {
          self.held.loseHandle()
          throw error
        }
      }
    } catch let failure as Failure where failure.code == .integrityMismatch {
      // It is gone on with: were another opened in its place, what this one took would not be in doubt.
      (sending, open) = (open, nil)
      throw failure
    } catch let failure as Failure where failure.code == .notFound {
      throw try await lost(session)
    } catch let failure as Failure where failure.class == .sessionGone {
      // Nobody goes on with what is left of it.
      _ = try await abort(session)
      throw failure
    }
    return UploadedFile(remoteID: upload.path)
  }

  /// Reads back what is in doubt.
  ///
  /// - Throws: `NOT_FOUND` where the temporary name is gone; `INTEGRITY_MISMATCH` where the server has not kept all of it: the rest of
  ///   it stays.
  private nonisolated(nonsending) func confirm(
    _ temporary: SFTPPath, _ session: RemoteSession, _ source: UploadSource, _ files: SFTPFiles
  ) async throws {
    guard held.isInDoubt else { return }
    let layout = ChunkLayout(size: source.size, chunkSize: session.chunkSize)
    var seen: [Int: HeldChunk] = [:]
    let isThere = try await HeldBytes(files: files, requests: access.requests, layout: layout)
      .read(temporary, besides: held.certain) { seen[$0] = $1 }
    guard isThere else { throw Failure(.notFound, "\(place): the upload is gone") }
    let lost = held.settle(seen)
    guard lost == 0 else {
      throw Failure(
        .integrityMismatch,
        "\(place): the server does not have \(lost) chunks that it took before the connection was lost")
    }
  }

  func origin(ending session: RemoteSession) -> String? { origin }

  nonisolated(nonsending) func abort(_ session: RemoteSession) async throws -> Failure? {
    guard let temporary = upload.temporary(session) else { return nil }
    if sending?.session == session.id {
      sending?.end()
      sending = nil
    }
    known = nil
    do {
      try await access.hasty.call("REMOVE") { files in
        try await self.restore(session, files)
        do { try await files.done(.remove(temporary.text), "remove `\(temporary.name)`") } catch let failure
          as Failure
          where failure.code == .notFound
        {}
      }
      return nil
    } catch let failure as Failure where !failure.isSilence {
      return failure
    }
  }
}
