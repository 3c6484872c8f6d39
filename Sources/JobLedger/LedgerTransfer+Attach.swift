package import JobModel

extension LedgerTransfer {
  /// What an attach request may say of its file, as far as it is on record.
  package func attachValues(_ progress: TransferProgress) -> AttachValues {
    var values = AttachValues(
      id: id, path: attachedPath(progress), digests: progress.digests, size: progress.size)
    values.remoteID = progress.remoteID
    values.version = progress.remote.version
    values.etag = progress.remote.etag
    values.contentType =
      progress.remote.contentType ?? settings.contentType ?? progress.sourceObject?.contentType
      ?? (settings.direction == .upload ? ContentTypes.of(source.text) : nil)
    return values
  }

  /// Of a local file its path as the manifest has it, of a copy where it went.
  private func attachedPath(_ progress: TransferProgress) -> String {
    switch (settings.direction, destination) {
    case (.download, _): progress.resolvedDestination ?? destination.text
    case (.upload, _): source.text
    case (.copy, .remote(_, let path)), (.copy, .local(let path)): path
    case (.copy, .url(let url)): Self.path(of: url)
    }
  }

  /// A URL's query may be a signature.
  private static func path(of url: String) -> String {
    let skipped = URLRule.schemeLength(url) ?? 0
    let rest = url.utf8.dropFirst(skipped).drop { $0 != UInt8(ascii: "/") }
    return String(decoding: rest.prefix { !"?#".utf8.contains($0) }, as: UTF8.self)
  }

  /// Its file stands, and the request that ties it to its record is still to be made, as far as the record tells.
  package var owesAttach: Bool {
    guard let template = settings.then else { return false }
    guard let record = progress.attach, record.state == .attached else { return true }
    guard template.digests.isSubset(of: progress.digests.keys),
      let request = try? template.request(attachValues(progress), run: nil)
    else { return false }
    return record.identity != request.identity(of: progress)
  }
}

extension AttachRequest {
  /// Tells the request for a file from others, in every run: made without the run's values. Other bytes have another record
  /// (`RestartReason`).
  package func identity(of progress: TransferProgress) -> String {
    // FNV-1a (draft-eastlake-fnv): spread, not secrecy.
    var hash: UInt64 = 14_695_981_039_346_656_037
    let parts: [JSON] = [.string(description), .text(progress.remoteID), .text(progress.remote.version)]
    for byte in JSON.array(parts).text.utf8 { hash = (hash ^ UInt64(byte)) &* 1_099_511_628_211 }
    return String(hash, radix: 16)
  }
}
