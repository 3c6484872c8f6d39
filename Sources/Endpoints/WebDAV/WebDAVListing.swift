package import JobModel

/// Lists what lies below a folder: one PROPFIND of depth 1 a folder (RFC 4918, 9.1), its files first. Depth infinity is not
/// asked for: most servers refuse it.
package struct WebDAVListing: ListingProtocol {
  private let root: WebURL

  /// - Parameter root: the endpoint's URL.
  package init(root: WebURL) { self.root = root }

  /// A folder comes in one answer: some 150,000 names.
  package var longestResponse: Int { 128 << 20 }

  package func list(_ prefix: String, page: String?) -> Request {
    MultiStatus.ask(url(ListingPrefix(prefix), walk(page) ?? FolderWalk()), depth: 1)
  }

  package func listed(
    _ response: Response, prefix text: String, page: String?, now: Double
  ) -> Result<ListedPage, Failure> {
    guard let walk = walk(page) else { return .failure(Failure(.internal, "a listing's mark can't be read")) }
    let prefix = ListingPrefix(text)
    // A folder that is not there has nothing in it; one that has just been listed is missing.
    if [404, 410].contains(response.status) {
      guard !walk.folder.isEmpty else { return .success(turn(walk, [], entries: [])) }
      return .failure(
        Failure(
          .notFound,
          "\(response.url) was listed as a folder, and answers \(response.status): it has gone since, or the server does not know it by its own name; run again",
          httpStatus: response.status))
    }
    guard response.status == 207 else {
      return .failure(refusal(response, doing: "list `\(text)`", now: now))
    }
    guard walk.depth < FolderWalk.deepest else {
      return .failure(
        Failure(
          .protocolViolation,
          "\(response.url) lies \(FolderWalk.deepest) folders deep: a link on the server may lead in a circle",
          class: .permanent))
    }
    do throws(Failure) {
      let names = try FolderNames(response, asked: url(prefix, walk))
      let refused = names.refused.first {
        prefix.admits(walk.folder + $0.name) && !TemporaryName.isOne($0.name)
      }
      if let refused { throw FolderNames.refusal(of: refused.1, response) }
      var entries: [ListedPage.Entry] = []
      for (name, found) in names.files where walk.last == nil {
        let path = walk.folder + name
        guard prefix.admits(path), !TemporaryName.isOne(name) else { continue }
        entries.append(
          ListedPage.Entry(
            path: prefix.below(path), size: found.size, etag: found.etag.map(WebDAVUpload.opaque),
            modified: found.modified.flatMap(HTTPDate.seconds)))
      }
      entries.sort { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
      let folders = names.folders.filter { prefix.admits(walk.folder + $0 + "/") }
      return .success(turn(walk, folders, entries: entries))
    } catch {
      return .failure(error)
    }
  }

  package func refusal(_ response: Response, doing what: String, now: Double) -> Failure {
    WebDAVError.of(response, doing: what, now: now)
  }

  private func turn(_ walk: FolderWalk, _ folders: [String], entries: [ListedPage.Entry]) -> ListedPage {
    ListedPage(entries: entries, next: walk.next(folders)?.text)
  }

  private func walk(_ page: String?) -> FolderWalk? { page.map { FolderWalk($0) } ?? FolderWalk() }

  private func url(_ prefix: ListingPrefix, _ walk: FolderWalk) -> WebURL {
    let path = WebURL.encode(prefix.folder + walk.folder)
    return root.appending(path.isEmpty ? "/" : path)
  }
}
