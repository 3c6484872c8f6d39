package import JobModel

/// An upload over SFTP: to a temporary name beside the destination, which is the session's id, then renamed.
package struct SFTPUpload: DirectUpload {
  package let url: WebURL
  package let path: String
  package let file: SFTPPath
  package let trust: SFTPTrust
  package let abilities = UploadAbilities(resumes: true, order: .any, emptyFile: .noChunks)

  init(_ path: String, at root: WebURL, _ trust: SFTPTrust) {
    url = root.appending(WebURL.encode(path))
    file = SFTPPath(path, below: root)
    (self.path, self.trust) = (path, trust)
  }

  package func sink(_ engine: EngineServices) -> any RemoteSink { engine.sftp.sink(self, engine) }

  package func opensSession(for source: UploadSource) -> Bool { true }
  package var keysSessions: Bool { true }
  package func tellsHoldings(of session: RemoteSession) -> Bool { true }
  package func provesUpload(in session: RemoteSession) -> Bool { false }
  /// Version 3's rename is to fail where there is a file; not all servers keep to that.
  package var looksBeforeItsEnd: Bool { true }
  package func closed(_ session: RemoteSession?, receipt: ChunkReceipt?) -> UploadedFile {
    UploadedFile(remoteID: path)
  }
  package func file(_ object: RemoteObject) -> UploadedFile {
    UploadedFile(remoteID: path, version: object.version)
  }

  /// The session's own time, which the file got before its name.
  package func matches(_ object: RemoteObject, session: RemoteSession, chunks: [ChunkRecord]) -> Bool {
    guard let time = session.facts[Self.time] else { return false }
    return object.version == time && object.size == chunks.reduce(0) { $0 + $1.length }
  }

  /// The session's fact that is the time that the file gets, in seconds since 1970.
  private static let time = "mtime"
  /// Its permissions, where the source has some.
  private static let mode = "mode"

  /// A new session: its temporary name, and what the file is to be like.
  package func session(for source: UploadSource, now: Double) -> RemoteSession {
    var session = RemoteSession(id: SFTPNames.temporary(source.key), chunkSize: max(1, source.chunkSize))
    // Of a copy's source, what goes along counts before what the answer says of the object.
    // Nanoseconds are more digits than a Double has: its fraction might round up to the next second.
    let known = [source.preserved.mtime?.wholeSeconds, source.modified.map { Int64(clamping: $0) }]
    // What can't be told is not told as another time: it gets the one that it is stored at.
    let time = known.compactMap(\.self).first.flatMap { SFTPAttributes.times.contains($0) ? $0 : nil }
    session.facts[Self.time] = String(UInt32(clamping: time ?? Int64(clamping: now)))
    let mode = source.preserved.mode.map(UInt32.init) ?? source.mode
    session.facts[Self.mode] = mode.map { String($0, radix: 8) }
    return session
  }

  /// What the file is to be like.
  package func attributes(_ session: RemoteSession) -> SFTPAttributes {
    var attributes = SFTPAttributes()
    attributes.modified = session.facts[Self.time].flatMap { UInt32($0) }
    attributes.mode = session.facts[Self.mode].flatMap { UInt32($0, radix: 8) }.map { $0 & 0o777 }
    return attributes
  }

  /// Why what stands at the destination can't be replaced; nil where it can.
  package func objection(to attributes: SFTPAttributes) -> Failure? {
    switch attributes.kind {
    case .folder?: Failure(.destinationExists, "\(url) is a folder, where a file is to be")
    case .link?, .special?:
      Failure(.destinationExists, "\(url) is a pipe, a device or a link, where a file is to be: move it away")
    case .file?, nil: nil
    }
  }

  /// The same by the answer to STAT, of which a refusal counts only where no file can have the name: OpenSSH says so of one that is too
  /// long.
  package func objection(to reply: SFTPReply, doing what: String) -> Failure? {
    switch reply {
    case .attributes(let attributes): objection(to: attributes)
    case .status(let status) where status.code == .badMessage:
      SFTPFailure.of(status, doing: what, at: url.description)
    default: nil
    }
  }

  /// What a session's facts name chunks for, as ranges of indexes: "0-41,44".
  package enum Finding: String, Sendable {
    /// No lost connection puts them in doubt any more.
    case proved
    /// The server has not kept what it took of them.
    case refuted
  }

  /// - Parameter count: chunks that the upload has.
  package static func chunks(_ finding: Finding, by session: RemoteSession, of count: Int) -> Set<Int> {
    var found: Set<Int> = []
    for range in session.facts[finding.rawValue]?.split(separator: ",") ?? [] {
      let ends = range.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
      guard let first = ends.first ?? nil, let last = ends.last ?? nil, first <= last, ends.count <= 2,
        first < count
      else { continue }
      found.formUnion(first...min(last, count - 1))
    }
    return found
  }

  package static func facts(proved: Set<Int>, refuted: Set<Int>) -> [String: String] {
    [Finding.proved.rawValue: ranges(proved), Finding.refuted.rawValue: ranges(refuted)]
  }

  private static func ranges(_ chunks: Set<Int>) -> String {
    let starts = chunks.filter { !chunks.contains($0 - 1) }.sorted()
    let ends = chunks.filter { !chunks.contains($0 + 1) }.sorted()
    return zip(starts, ends).map { $0 == $1 ? "\($0)" : "\($0)-\($1)" }.joined(separator: ",")
  }

  /// Where the upload arrives; nil for an id that is no temporary name of haul's.
  package func temporary(_ session: RemoteSession) -> SFTPPath? {
    TemporaryName.isOne(session.id) ? file.sibling(session.id) : nil
  }

  /// Where a file stands while another takes its name.
  package func aside(_ session: RemoteSession) -> SFTPPath { file.sibling(SFTPNames.aside(session.id)) }
}
