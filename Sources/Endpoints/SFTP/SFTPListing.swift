package import JobModel

/// Lists what lies below a folder, folder by folder. Links are not followed.
package struct SFTPListing: DirectListing {
  package let url: WebURL
  package let trust: SFTPTrust

  init(at root: WebURL, _ trust: SFTPTrust) { (url, self.trust) = (root, trust) }

  package nonisolated(nonsending) func page(
    _ page: String?, of prefix: String, _ engine: EngineServices
  ) async throws -> ListedPage {
    try await engine.sftp.page(page, of: prefix, in: self, engine)
  }

  /// One folder's turn of a listing.
  package struct Turn: Sendable {
    /// As it is asked for.
    package let folder: SFTPPath
    private let prefix: ListingPrefix
    private let walk: FolderWalk

    fileprivate init(_ folder: SFTPPath, _ prefix: ListingPrefix, _ walk: FolderWalk) {
      (self.folder, self.prefix, self.walk) = (folder, prefix, walk)
    }

    /// What a folder holds.
    package func listed(_ names: [SFTPReply.Name]) throws(Failure) -> ListedPage {
      var entries: [ListedPage.Entry] = []
      var folders: [String] = []
      for entry in names where entry.bytes != [0x2E] && entry.bytes != [0x2E, 0x2E] {
        let name = try SFTPListing.name(entry.bytes, in: folder)
        let path = walk.folder + name
        switch entry.attributes.kind {
        case .folder: if prefix.admits(path + "/") { folders.append(name) }
        case .file, nil:
          guard walk.last == nil, prefix.admits(path), !SFTPNames.isTemporary(name) else { continue }
          entries.append(
            ListedPage.Entry(
              path: prefix.below(path), size: entry.attributes.bytes,
              modified: entry.attributes.modified.map { Double($0) }))
        case .link, .special:
          guard walk.last == nil, prefix.admits(path) else { continue }
          entries.append(
            ListedPage.Entry(
              path: prefix.below(path), size: nil, nonFile: entry.attributes.kind == .link ? .link : .special)
          )
        }
      }
      entries.sort { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
      return ListedPage(entries: entries, next: walk.next(folders)?.text)
    }
  }

  /// - Parameter page: the mark of the page wanted; nil for the first.
  package func turn(_ page: String?, of text: String) throws(Failure) -> Turn {
    guard let walk = page.map({ FolderWalk($0) }) ?? FolderWalk() else {
      throw Failure(.internal, "a listing's mark can't be read")
    }
    let prefix = ListingPrefix(text)
    var path = prefix.folder + walk.folder
    while path.utf8.last == UInt8(ascii: "/") { path = String(decoding: path.utf8.dropLast(), as: UTF8.self) }
    guard walk.depth < FolderWalk.deepest else {
      throw Failure(
        .protocolViolation,
        "\(url): `\(path)` lies \(FolderWalk.deepest) folders deep: the server may show a folder within itself",
        class: .permanent)
    }
    return Turn(SFTPPath(path, below: url), prefix, walk)
  }

  /// A name as text. Places of a plan are text: another form of the name would be another file's.
  private static func name(_ bytes: [UInt8], in folder: SFTPPath) throws(Failure) -> String {
    guard let name = String(validating: bytes, as: UTF8.self) else {
      throw Failure(
        .protocolViolation,
        "`\(folder.text)` holds the name `\(String(decoding: bytes, as: UTF8.self))`, which is not UTF-8: rename it, or list another folder",
        class: .permanent)
    }
    guard !name.isEmpty, !bytes.contains(0), !bytes.contains(UInt8(ascii: "/")) else {
      throw Failure(
        .protocolViolation, "`\(folder.text)` lists `\(name)`, which is not a name in it", class: .permanent)
    }
    return name
  }
}
