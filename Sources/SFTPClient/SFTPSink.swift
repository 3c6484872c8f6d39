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
  /// It was long at bringing to its disk what it had, and took nothing meanwhile: it is not asked again.
  private var isSlowToSync = false
  /// The session that `held` tells all of.
  private var known: String?
  /// The temporary file as it was just before it was read back, until it is opened to be written to.
  private var seen: SFTPAttributes?
  private var recorded: () throws -> [ChunkRecord] = { [] }
  private var note: (_ session: String, _ facts: [String: String]) -> Void = { _, _ in }

  init(_ upload: SFTPUpload, _ access: SFTPAccess) { (self.upload, self.access) = (upload, access) }

  deinit { sending?.end() }

  var traits: any UploadTraits { upload }
  var place: String { upload.url.description }
  var origin: String { upload.url.origin }
  func hasty() -> any RemoteSink { SFTPSink(upload, access.hasty) }

  func remember(
    _ recorded: @escaping () throws -> [ChunkRecord], note: @escaping (String, [String: String]) -> Void
  ) { (self.recorded, self.note) = (recorded, note) }

  // MARK: What is there

  nonisolated(nonsending) func look(_ effort: LookEffort) async throws -> FoundFile? {
    do {
      let seen: SFTPAttributes?
      switch effort {
      case .once: seen = try await access.once("STAT", moving: nil) { (try await self.seen($0), bytes: 0) }
      case .retried: seen = try await access.call("STAT") { try await self.seen($0) }
      }
      guard let seen else { return .nothing }
      if let objection = upload.objection(to: seen) { return .failed(objection) }
      return .object(SFTPDownload.object(seen))
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
    // Along with it: what can't be replaced, and a name that can't be, is told before a byte is sent.
    let there = try files.connection.post(.stat(upload.file.text), within: files.timeout)
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
    if let objection = upload.objection(to: try await there.value(), doing: "look") {
      handle.close()
      try? await files.done(.remove(temporary.text), "remove `\(temporary.name)`")
      throw objection
    }
    take(SFTPSending(session.id, handle, isNew: true, now: access.engine.now()))
    return true
  }

  private func take(_ new: SFTPSending) {
    if sending?.session == new.session { held.loseHandle() }
    sending?.end()
    (sending, seen) = (new, nil)
  }

  /// What is there and not proved is read back: nothing else tells what the server has kept of it.
  nonisolated(nonsending) func holdings(
    of session: RemoteSession, source: UploadSource
  ) async throws -> Result<SessionHoldings, Failure>? {
    guard let temporary = upload.temporary(session) else { return .failure(gone(session)) }
    let there = try await access.call("STAT") { try await $0.found(.linkStat(temporary.text)) }
    guard let there else { return .failure(try await lost(session)) }
    guard known != session.id else { return .success(SessionHoldings(chunks: held.chunks)) }
    (held, seen) = (AcknowledgedChunks(), there)
    let layout = ChunkLayout(size: source.size, chunkSize: session.chunkSize)
    var receipts: [Int: String] = [:]
    for record in try recorded() {
      let index = Int(record.offset / layout.chunkSize)
      if index < layout.count, layout.range(index) == record.range { receipts[index] = record.receipt }
    }
    held.refute(SFTPUpload.chunks(.refuted, by: session, of: layout.count))
    for index in SFTPUpload.chunks(.proved, by: session, of: layout.count) {
      let range = layout.range(index)
      guard let receipt = receipts[index], range.upperBound <= there.bytes ?? 0 else { continue }
      held.keep(index, HeldChunk(size: Int64(range.count), receipt: receipt))
      held.prove([index])
    }
    let isThere = try await readBack(temporary, session, layout) {
      !self.held.isCertain($0) && !self.held.refuted.contains($0)
    } isAsSent: { index, found in
      self.held.keep(index, found)
      return receipts[index] == found.receipt
    }
    guard isThere else { return .failure(try await lost(session)) }
    known = session.id
    return .success(SessionHoldings(chunks: held.chunks))
  }

  nonisolated(nonsending) func hasTemporaryName(_ session: RemoteSession) async throws -> Bool {
    guard let temporary = upload.temporary(session) else { return false }
    let there = try await access.call("STAT") { try await $0.found(.linkStat(temporary.text)) }
    return there != nil
  }

  /// Reads back, piece by piece: what is found as it was sent is proved, and recorded.
  ///
  /// - Returns: false where the temporary name is gone.
  private nonisolated(nonsending) func readBack(
    _ temporary: SFTPPath, _ session: RemoteSession, _ layout: ChunkLayout, wants: (Int) -> Bool,
    isAsSent: (Int, HeldChunk) -> Bool
  ) async throws -> Bool {
    while true {
      let isAll = try await access.call("READ") { files in
        var sound: [Int] = []
        do {
          let read = try await HeldBytes(files: files, requests: self.access.requests, layout: layout)
            .read(temporary, wants: wants, now: self.access.engine.now) {
              if isAsSent($0, $1) { sound.append($0) }
            }
          if read?.isKept == true { self.prove(sound, session) }
          return read?.isAll
        } catch {
          self.held.loseHandle()
          throw error
        }
      }
      guard let isAll else { return false }
      if isAll { return true }
    }
  }

  private func prove(_ chunks: [Int], _ session: RemoteSession) {
    guard !chunks.isEmpty else { return }
    held.prove(chunks)
    record(session)
  }

  private func refute(_ chunks: [Int], _ session: RemoteSession) {
    guard !chunks.isEmpty else { return }
    held.refute(chunks)
    record(session)
  }

  private func record(_ session: RemoteSession) {
    note(session.id, SFTPUpload.facts(proved: held.proved, refuted: held.refuted))
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
    let wasProved = held.proved.contains(chunk.index)
    held.drop(chunk.index)
    if wasProved { record(session) }
    // Before a connection is waited for: those in line behind it would have them all.
    try await line.take(chunk.index, underWay: coming)
    var (isInLine, age) = (true, 0)
    let (receipt, over): (String, SFTPSending)
    do {
      // Over the handle's own connection: another login would bring nothing.
      (receipt, over) = try await access.requests.once("WRITE", access.url, moving: .upload) {
        let sending = try await self.open(session, temporary, source)
        return (sending, try self.access.lease(of: sending.connection))
      } _: { over in
        let sending = over.0
        age = self.held.age
        let written = try await sending.write(
          chunk, body, self.access.files(sending.connection), self.access.requests)
        isInLine = false
        self.line.leave(chunk.index, isWritten: true)
        try await self.wait(for: written, of: sending, session)
        return ((written.receipt, sending), bytes: Int64(chunk.range.count))
      }
    } catch {
      if isInLine { line.leave(chunk.index, isWritten: false) }
      line.forget(chunk.index)
      throw error
    }
    let wasRefuted = held.refuted.contains(chunk.index)
    held.keep(chunk.index, HeldChunk(size: Int64(chunk.range.count), receipt: receipt), age: age)
    if wasRefuted { record(session) }
    body.settle(sent: body.length)
    await sync(over, chunk.range.count, session)
    return .success(ChunkReceipt(token: receipt))
  }

  /// Has the server bring to its disk what it has acknowledged over a handle: the same process of it answers, so that all of it
  /// is there.
  private nonisolated(nonsending) func sync(_ over: SFTPSending, _ count: Int, _ session: RemoteSession) async
  {
    let connection = over.connection
    guard over.pace.isDue(after: Int64(count), now: access.engine.now()), !isSlowToSync, over === sending,
      connection.extensions.contains(.sync)
    else { return }
    let (chunks, age, asked) = (held.unproved, held.age, access.engine.now())
    let files = access.files(connection)
    let reply = try? await connection.ask(.sync(over.handle.id), within: files.timeout)
    isSlowToSync = reply == nil || access.engine.now() - asked > files.stall / 3
    guard case .status(let status)? = reply, held.age == age else { return }
    // Linux tells a handle once that its writes were lost, and knows of it no more.
    if status.code == .failure {
      refute(chunks, session)
    } else if status.code == .ok {
      prove(chunks, session)
    }
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
    _ session: RemoteSession, _ temporary: SFTPPath, _ source: UploadSource
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
    let now = try? await files.attributes(.handleStat(handle.id), "look at the upload")
    let new = SFTPSending(session.id, handle, isNew: false, now: access.engine.now())
    let before = seen
    take(new)
    if let now { doubt(now, than: before, session, source) }
    return new
  }

  /// Where another file may have taken the temporary name, nothing is believed of it: all is read back before the end.
  private func doubt(
    _ now: SFTPAttributes, than before: SFTPAttributes?, _ session: RemoteSession, _ source: UploadSource
  ) {
    let layout = ChunkLayout(size: source.size, chunkSize: session.chunkSize)
    guard held.isOther(now, than: before, layout) else { return }
    held.doubtAll()
    record(session)
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
      var isClosed = false
      while !isClosed {
        try await confirm(temporary, session, source)
        isClosed = try await access.call("RENAME") { files in
          if open?.connection.isUsable == false {
            open = nil
            self.held.loseHandle()
          }
          guard self.held.doubtful.isEmpty else { return false }
          // A second try finds its own way.
          let own = open
          open = nil
          do { try await closing.run(files, over: own, access) } catch {
            self.held.loseHandle()
            throw error
          }
          return true
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
    _ temporary: SFTPPath, _ session: RemoteSession, _ source: UploadSource
  ) async throws {
    if let before = seen,
      let now = try await access.call("STAT", { try await $0.found(.linkStat(temporary.text)) })
    {
      doubt(now, than: before, session, source)
      seen = nil
    }
    if !held.doubtful.isEmpty {
      let layout = ChunkLayout(size: source.size, chunkSize: session.chunkSize)
      let isThere = try await readBack(temporary, session, layout) {
        self.held.isDoubtful($0)
      } isAsSent: {
        self.held.judge($0, $1)
      }
      guard isThere else { throw Failure(.notFound, "\(place): the upload is gone") }
      // Behind the end of what is there.
      held.refute(held.doubtful)
      record(session)
    }
    guard held.refuted.isEmpty else {
      throw Failure(
        .integrityMismatch,
        "\(place): the server does not have \(held.refuted.count) chunks as it took them")
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
