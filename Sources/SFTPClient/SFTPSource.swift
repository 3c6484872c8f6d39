import Endpoints
import JobModel

/// A file on an SFTP server as a source of bytes: size and modification time are its version.
struct SFTPSource: RemoteSource {
  private let download: SFTPDownload
  private let access: SFTPAccess

  init(_ download: SFTPDownload, _ access: SFTPAccess) { (self.download, self.access) = (download, access) }

  var place: String { download.url.description }
  var origin: String { download.url.origin }
  var name: String { download.file.name }
  var promisedDigests: Set<DigestAlgorithm> { [] }
  func remoteID(of object: RemoteObject) -> String? { download.path }
  func pinned(_ object: RemoteObject) -> RemoteObject? { nil }

  /// The first range tells it.
  nonisolated(nonsending) func describe(_ known: RemoteObject) async throws -> RemoteObject? { nil }

  nonisolated(nonsending) func probe() async throws -> RemoteObject {
    let seen = try await access.call("STAT") { files in
      try await files.attributes(.stat(self.download.file.text), "look at the file")
    }
    if let objection = download.objection(to: seen) { throw objection }
    return SFTPDownload.object(seen)
  }

  nonisolated(nonsending) func read(
    _ range: Range<Int64>?, of object: RemoteObject, wantsDigest: Bool, into receiver: any ByteReceiver
  ) async throws {
    try await access.once("READ", moving: .download) { files in
      ((), bytes: try await self.read(range, of: object, files, into: receiver))
    }
  }

  /// - Returns: how many bytes came.
  private nonisolated(nonsending) func read(
    _ range: Range<Int64>?, of object: RemoteObject, _ files: SFTPFiles, into receiver: any ByteReceiver
  ) async throws -> Int64 {
    if !access.engine.isListed, object == RemoteObject() { try await checkKind(files) }
    let handle = try await files.open(
      .open(download.file.text, .read, SFTPAttributes()), "open the file")
    defer { handle.close() }
    let reading = SFTPReading(files: files, handle: handle, requests: access.requests)
    let asked = try handle.connection.post(.handleStat(handle.id), within: files.timeout)
    let first = try await reading.start(range ?? 0..<0)
    let attributes = try look(try await asked.value(), files)
    let seen = SFTPDownload.object(attributes)
    guard object.isSameVersion(as: seen) else {
      try receiver.open(Opening(.changed, seen: seen))
      return 0
    }
    guard let size = attributes.bytes, size > 0 else {
      return try await readOn(first, seen, reading, into: receiver)
    }
    guard range?.lowerBound ?? 0 < size else {
      throw Failure(.rangeInvalid, "\(place) has \(size) bytes: none where more was asked for")
    }
    let wanted = (range ?? 0..<size).clamped(to: 0..<size)
    try receiver.open(Opening(range == nil ? .whole(length: size) : .bytes(wanted), seen: seen))
    let outcome = try await reading.read(wanted, after: first, told: size) {
      await receiver.room()
    } use: {
      try receiver.take($0)
    }
    // What was written to it meanwhile may lie on either side of what was read.
    let last = try outcome.look ?? handle.connection.post(.handleStat(handle.id), within: files.timeout)
    let after = SFTPDownload.object(try look(try await last.value(), files))
    guard outcome.end == wanted.upperBound, after == seen else { throw changed(seen) }
    if case .data(let more)? = try await outcome.beyond?.value(), !more.isEmpty {
      throw Failure(
        .remoteChanged, "\(place) has more than the \(size) bytes that the server tells of it",
        class: .objectChanged, expected: String(size))
    }
    return Int64(wanted.count)
  }

  /// Looks at what nothing was told of: in opening a FIFO, OpenSSH's server waits for who writes to it, and with it all that share the
  /// connection. What can't be looked at may be read all the same.
  private nonisolated(nonsending) func checkKind(_ files: SFTPFiles) async throws {
    let reply = try await files.connection.ask(.stat(download.file.text), within: files.timeout)
    if case .attributes(let seen) = reply, let objection = download.objection(to: seen) { throw objection }
  }

  /// Reads a file that is said to be empty, or of which no size is told, to its end: Linux says of its own (`/proc`) that they
  /// are empty.
  ///
  /// - Parameter first: what was asked for already.
  private nonisolated(nonsending) func readOn(
    _ first: SFTPReading.Piece?, _ seen: RemoteObject, _ reading: SFTPReading,
    into receiver: any ByteReceiver
  ) async throws -> Int64 {
    var (piece, position, told) = (first?.range.lowerBound == 0 ? first : nil, Int64(0), seen)
    while true {
      if piece == nil { piece = try await reading.start(position..<Int64.max) }
      guard let asked = piece, let bytes = try await reading.bytes(of: asked) else { break }
      if position == 0 {
        told.size = nil
        try receiver.open(Opening(.whole(length: nil), seen: told))
      }
      await receiver.room()
      try bytes.withUnsafeBytes { try receiver.take($0) }
      (piece, position) = (nil, position + Int64(bytes.count))
    }
    guard position > 0 else {
      told.size = 0
      try receiver.open(Opening(.nothing, seen: told))
      return 0
    }
    let last = try reading.handle.connection.post(
      .handleStat(reading.handle.id), within: reading.files.timeout)
    let after = SFTPDownload.object(try look(try await last.value(), reading.files))
    guard after == seen else { throw changed(seen) }
    return position
  }

  private func changed(_ object: RemoteObject) -> Failure {
    Failure(
      .remoteChanged, "\(place) changed while it was read", class: .objectChanged, expected: object.version)
  }

  private func look(_ reply: SFTPReply, _ files: SFTPFiles) throws(Failure) -> SFTPAttributes {
    guard case .attributes(let attributes) = try files.refused(reply, "look at the file") else {
      throw files.confused("look at the file")
    }
    if let objection = download.objection(to: attributes) { throw objection }
    return attributes
  }

  /// SFTP version 3 knows no digests.
  nonisolated(nonsending) func digest(
    of range: Range<Int64>, of object: RemoteObject
  ) async throws -> RangeDigest? { nil }
}
