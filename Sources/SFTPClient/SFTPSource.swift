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
    guard let size = attributes.bytes else {
      throw Failure(
        .protocolViolation, "\(place): the server does not tell the file's size", class: .permanent)
    }
    guard range?.lowerBound ?? 0 < size else {
      guard size == 0 else {
        throw Failure(.rangeInvalid, "\(place) has \(size) bytes: none where more was asked for")
      }
      try receiver.open(Opening(.nothing, seen: seen))
      return 0
    }
    let wanted = (range ?? 0..<size).clamped(to: 0..<size)
    try receiver.open(Opening(range == nil ? .whole(length: size) : .bytes(wanted), seen: seen))
    let outcome = try await reading.read(wanted, after: first, looks: true) {
      await receiver.room()
    } use: {
      try receiver.take($0)
    }
    // What was written to it meanwhile may lie on either side of what was read.
    let last = try outcome.look ?? handle.connection.post(.handleStat(handle.id), within: files.timeout)
    let after = SFTPDownload.object(try look(try await last.value(), files))
    guard outcome.end == wanted.upperBound, after == seen else {
      throw Failure(
        .remoteChanged, "\(place) changed while it was read", class: .objectChanged, expected: object.version)
    }
    return Int64(wanted.count)
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
