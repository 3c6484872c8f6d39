import Endpoints
import JobModel
import Testing

/// WebDAV without a server: what a multi-status means, how a walk goes on, and what is asked in which order.
struct WebDAVTests {
  private static func url(_ text: String) throws -> WebURL { try #require(WebURL(text)) }

  private static func item(
    _ href: String, folder: Bool = false, size: Int? = nil, etag: String? = nil, status: String = "200 OK"
  ) -> String {
    let kind = folder ? "<D:collection/>" : ""
    let length = size.map { "<D:getcontentlength>\($0)</D:getcontentlength>" } ?? ""
    let tag = etag.map { "<D:getetag>\($0)</D:getetag>" } ?? ""
    return """
      <D:response><D:href>\(href)</D:href><D:propstat><D:prop><D:resourcetype>\(kind)</D:resourcetype>\(length)\(tag)
      <D:getlastmodified>Sun, 06 Nov 1994 08:49:37 GMT</D:getlastmodified></D:prop><D:status>HTTP/1.1 \(status)</D:status>
      </D:propstat><D:propstat><D:prop><D:getcontentlength/></D:prop><D:status>HTTP/1.1 404 Not Found</D:status>
      </D:propstat></D:response>
      """
  }

  private static func refused(_ status: String, _ hrefs: String...) -> String {
    let names = hrefs.map { "<D:href>\($0)</D:href>" }.joined()
    return "<D:response>\(names)<D:status>HTTP/1.1 \(status)</D:status></D:response>"
  }

  private static func multi(_ items: String..., at place: String = "https://h/dav/in/") throws -> Response {
    let text =
      "<?xml version=\"1.0\"?>\n<D:multistatus xmlns:D=\"DAV:\">\(items.joined())</D:multistatus>"
    return Wire.response(207, text, url: try url(place))
  }

  private static func status(_ status: Int, _ text: String = "", at place: String = "https://h/dav/in/")
    throws
    -> Response
  {
    Wire.response(status, text, url: try url(place))
  }

  /// One answer tells of all uploads to a folder; what it does not tell for certain is asked for by itself.
  @Test func aFolderTellsOfManyUploads() throws {
    let root = try Self.url("https://h/dav")
    let request = try #require(WebDAVUpload(path: "in/a b.bin", root: root).lookAtFolder())
    #expect(request.method == "PROPFIND" && request.headers["Depth"] == "1")
    #expect(request.url.text == "https://h/dav/in/")
    #expect(WebDAVUpload(path: "x", root: root).lookAtFolder()?.url.text == "https://h/dav/")
    #expect(WebDAVUpload(path: "in/\u{301}x", root: root).lookAtFolder()?.url.text == "https://h/dav/in/")
    let answer = try Self.multi(
      Self.item("/dav/in/", folder: true), Self.item("/dav/in/a%20b.bin", size: 3, etag: "W/&quot;t&quot;"),
      Self.item("/dav/in/sub/", folder: true), Self.item("/dav/in/hidden", status: "403 Forbidden"))
    func found(_ name: String) -> RemoteObject? {
      WebDAVUpload(path: "in/" + name, root: root).foundInFolder(answer)?.object
    }
    #expect(found("a b.bin")?.size == 3 && found("a b.bin")?.etag == "\"t\"")
    #expect(WebDAVUpload(path: "in/a b.bin", root: root).foundInFolder(answer)?.names == 3)
    for name in ["b.bin", "sub", "hidden", "a%20b.bin"] { #expect(found(name) == nil, "\(name)") }
    #expect(WebDAVUpload(path: "in/x", root: root).foundInFolder(try Self.status(404)) == nil)
  }

  // MARK: Listings

  private func listing() throws -> WebDAVListing { WebDAVListing(root: try Self.url("https://h/dav")) }

  private func page(_ response: Response, _ prefix: String, _ mark: String? = nil) throws -> ListedPage {
    try listing().listed(response, prefix: prefix, page: mark, now: 0).get()
  }

  @Test func aListingAsksOneFolder() throws {
    let request = try listing().list("a b/ü%#?/", page: nil)
    #expect(request.method == "PROPFIND" && request.headers["Depth"] == "1")
    #expect(request.url.text == "https://h/dav/a%20b/%C3%BC%25%23%3F/")
    #expect(try listing().list("", page: nil).url.text == "https://h/dav/")
    #expect(try listing().list("in/na", page: nil).url.text == "https://h/dav/in/")
  }

  /// Absolute, relative, as a path, behind another prefix.
  @Test(arguments: [
    ("/dav/in/", "/dav/in/"), ("https://h/dav/in/", "https://h/dav/in/"),
    ("/inner/store/in", "/inner/store/in/"),
    ("http://backend:8080/x/in/", "/x/in/"), (".", ""),
  ]) func hrefsOfAllKinds(_ own: String, _ base: String) throws {
    let response = try Self.multi(
      Self.item(own, folder: true),
      Self.item(base + "b%20%c3%bc%25%23%3f%26.txt", size: 7, etag: "W/&quot;t&quot;"),
      Self.item(base + "a", size: 0), Self.item(base + "sub/", folder: true))
    let page = try page(response, "in/")
    #expect(page.entries.map(\.path) == ["a", "b ü%#?&.txt"])
    #expect(page.entries.map(\.size) == [0, 7])
    #expect(page.entries.last?.etag == "\"t\"" && page.entries.last?.modified == 784_111_777)
    let next = try listing().list("in/", page: page.next)
    #expect(next.url.text == "https://h/dav/in/sub/")
  }

  /// A name in another encoding would be asked for by another name, and its folder would seem empty.
  @Test func namesThatAreNotUTF8AreRefused() throws {
    for name in ["%E9t%E9/", "caf%E9.txt", "%FF"] {
      let response = try Self.multi(
        Self.item("/dav/in/", folder: true), Self.item("/dav/in/" + name, folder: name.hasSuffix("/")))
      let failure = #expect(throws: Failure.self) { try page(response, "in/") }
      #expect(failure?.code == .protocolViolation && failure?.message.contains(name) == true)
    }
  }

  @Test func onlyAMissingPrefixIsEmpty() throws {
    #expect(try page(try Self.status(404), "in/").entries.isEmpty)
    let top = try page(
      try Self.multi(Self.item("/dav/in/", folder: true), Self.item("/dav/in/sub/", folder: true)), "in/")
    let failure = #expect(throws: Failure.self) {
      try page(try Self.status(404, at: "https://h/dav/in/sub/"), "in/", top.next)
    }
    #expect(failure?.code == .notFound)
  }

  @Test func resourcesNeedNames() throws {
    let own = Self.item("/dav/in/", folder: true)
    for item in ["<D:response/>", Self.item("/dav/in/" + String(repeating: "x", count: 20_000))] {
      #expect(throws: Failure.self) { try page(try Self.multi(own, item), "in/") }
    }
  }

  /// Files first, then folders by name, then what is behind them.
  @Test func foldersAreWalkedInOrder() throws {
    let folders: [String: [String]] = [
      "": ["b", "a"], "a/": ["y", "x z"], "a/x z/": [], "a/y/": [], "b/": ["c"], "b/c/": [],
    ]
    var (mark, asked): (String?, [String]) = (nil, [])
    repeat {
      let url = try listing().list("in/", page: mark).url
      let folder = WebURL.decode(url.path.dropFirst("/dav/in/".count))
      asked.append(folder)
      let names = try #require(folders[folder])
      let items = names.map { Self.item("\(url.path)\(WebURL.encode($0))/", folder: true) }.joined()
      let file = Self.item(url.path + "file", size: 1)
      mark = try page(try Self.multi(Self.item(url.path, folder: true), items, file), "in/", mark).next
    } while mark != nil
    #expect(asked == ["", "a/", "a/x z/", "a/y/", "b/", "b/c/"])
  }

  /// What is kept of a folder's folders is bounded: the folder is asked for again, and its files come once.
  @Test func manyFoldersAreAskedForAgain() throws {
    let names = (0..<2500).map { "d" + String(10_000 + $0) }
    let items = names.map { Self.item("/dav/in/\($0)/", folder: true) }.joined()
    let top = try Self.multi(Self.item("/dav/in/", folder: true), Self.item("/dav/in/f", size: 1), items)
    var (mark, asked, files, longest, again): (String?, [String], Int, Int, Int) = (nil, [], 0, 0, 0)
    repeat {
      let url = try listing().list("in/", page: mark).url
      let page: ListedPage
      if url.path == "/dav/in/" {
        page = try self.page(top, "in/", mark)
        again += 1
      } else {
        asked.append(String(url.path.dropFirst("/dav/in/".count).dropLast()))
        page = try self.page(try Self.multi(Self.item(url.path, folder: true)), "in/", mark)
      }
      files += page.entries.count
      mark = page.next
      longest = max(longest, mark?.utf8.count ?? 0)
    } while mark != nil
    #expect(asked == names && files == 1 && again == 3)
    #expect(longest < 10_000)
  }

  @Test func whatCannotBeAListingIsRefused() throws {
    let own = Self.item("/dav/in/", folder: true)
    let refused: [Response] = [
      try Self.multi(own, Self.item("/dav/other/x", size: 1)),
      try Self.multi(own, Self.item("/dav/other/", folder: true)),
      try Self.multi(own, Self.item("/dav/in/a%2Fb", size: 1)),
      try Self.multi(own, Self.item("/dav/in/%2e%2e", size: 1)),
      try Self.multi(Self.item("/dav/in/", size: 1)),
      try Self.multi(Self.item("/dav/elsewhere/", folder: true)), try Self.multi(),
      try Self.status(207, "<html/>"), try Self.status(207, "<!DOCTYPE x><D:multistatus xmlns:D='DAV:'/>"),
      try Self.status(200, "<html/>"),
    ]
    for response in refused {
      #expect(
        Wire.code(try listing().listed(response, prefix: "in/", page: nil, now: 0)) == .protocolViolation)
    }
    #expect(
      Wire.code(try listing().listed(try Self.status(403), prefix: "in/", page: nil, now: 0)) == .forbidden)
    #expect(try page(try Self.status(404), "in/").entries.isEmpty, "nothing lies there")
    #expect(
      Wire.code(try listing().listed(try Self.multi(own), prefix: "in/", page: "x", now: 0)) == .internal)
  }

  /// What a multi-status refuses may be a folder: no listing goes without it, and it is no file.
  @Test(arguments: [
    (refused("403 Forbidden", "/dav/in/sub/"), ErrorCode.forbidden, 403, "/dav/in/sub/"),
    (refused("500 Internal Server Error", "/dav/in/sub"), .serverError, 500, "/dav/in/sub"),
    (refused("423 Locked", "/dav/in/gone", "/dav/in/other"), .serverError, 423, "/dav/in/gone"),
    (item("/dav/in/sub/", status: "403 Forbidden"), .forbidden, 403, "/dav/in/sub/"),
    (refused("507 Insufficient Storage", "/dav/in/"), .serverError, 507, "cut the listing short"),
    (refused("507 Insufficient Storage", "/dav/in/sub/"), .serverError, 507, "cut the listing short"),
    (refused("403 Forbidden", "/dav/in/"), .forbidden, 403, "/dav/in/"),
  ])
  func whatIsRefusedInAListing(_ item: String, _ code: ErrorCode, _ status: Int, _ words: String) throws {
    let (own, file) = (Self.item("/dav/in/", folder: true), Self.item("/dav/in/ok", size: 1))
    for response in [try Self.multi(own, file, item), try Self.multi(item, own, file)] {
      let failure = #expect(throws: Failure.self) { try page(response, "in/") }
      #expect(failure?.code == code && failure?.httpStatus == status)
      #expect(failure?.message.contains(words) == true, "\(failure?.message ?? "")")
    }
  }

  /// Each of several names has the status of its response; what has gone, and what was not asked for, is not missed.
  @Test func whatIsNotMissedInAListing() throws {
    let own = Self.item("/dav/in/", folder: true)
    let gone = Self.refused("404 Not Found", "/dav/in/gone/", "/dav/in/gone%20too")
    let both = try Self.multi(own, Self.refused("200 OK", "/dav/in/a", "/dav/in/b"), gone)
    #expect(try page(both, "in/").entries.map(\.path) == ["a", "b"])
    let other = try Self.multi(own, Self.item("/dav/in/name", size: 1), Self.refused("403 No", "/dav/in/x/"))
    #expect(try page(other, "in/na").entries.map(\.path) == ["me"])
    // Its type is not told, and its name ends as a folder's.
    let untold = try page(try Self.multi(own, Self.item("/dav/in/sub/", status: "404 Not Found")), "in/")
    #expect(try untold.entries.isEmpty && listing().list("in/", page: untold.next).url.path == "/dav/in/sub/")
  }

  @Test func namesOfUploadsUnderWayAreLeftOut() throws {
    let temporary = ".haul-0123456789abcdef0123456789abcdef.tmp"
    let response = try Self.multi(
      Self.item("/dav/in/", folder: true), Self.item("/dav/in/\(temporary)", size: 1),
      Self.item("/dav/in/.haul-notes.tmp", size: 2), Self.item("/dav/in/gone", status: "404 Not Found"),
      Self.item("/dav/in/deeper/x", size: 1))
    #expect(try page(response, "in/").entries.map(\.path) == [".haul-notes.tmp", "gone"])
  }

  /// A prefix may end within a name.
  @Test func aPrefixIsCompared() throws {
    let response = try Self.multi(
      Self.item("/dav/in/", folder: true), Self.item("/dav/in/name", size: 1),
      Self.item("/dav/in/other", size: 1),
      Self.item("/dav/in/nab/", folder: true), Self.item("/dav/in/x/", folder: true))
    let page = try page(response, "in/na")
    #expect(page.entries.map(\.path) == ["me"])
    #expect(try listing().list("in/na", page: page.next).url.text == "https://h/dav/in/nab/")
  }

  // MARK: Uploads

  private func upload(_ path: String = "in/a b.bin") throws -> WebDAVUpload {
    WebDAVUpload(path: path, root: try Self.url("https://h/dav"))
  }

  private static func source(mustBeNew: Bool = false) -> UploadSource {
    var source = UploadSource(size: 7, contentType: "text/plain", chunkSize: 7, mustBeNew: mustBeNew)
    source.key = "0123456789abcdef0123456789abcdef"
    return source
  }

  private static let temporary = "https://h" + temporaryPath
  private static let temporaryPath = "/dav/in/.haul-0123456789abcdef0123456789abcdef.tmp"

  @Test func theSessionIsATemporaryName() throws {
    let upload = try upload()
    let session = try #require(upload.ownSession(for: Self.source()))
    #expect(upload.open(Self.source(), renewing: nil) == nil && upload.opensSession(for: Self.source()))
    #expect(session.chunkSize == 7 && upload.ownSession(for: Self.source()) == session)
    let chunk = UploadChunk(index: 0, range: 0..<7)
    #expect(upload.put(chunk, session: session, source: Self.source()).url.text == Self.temporary)
    #expect(upload.abort(session)?.method == "DELETE" && upload.abort(session)?.url.text == Self.temporary)
    var other = Self.source()
    other.key = nil
    #expect(upload.ownSession(for: other)?.id != upload.ownSession(for: other)?.id)
    let top = try self.upload("x")
    #expect(top.abort(session)?.url.text == "https://h/dav/.haul-0123456789abcdef0123456789abcdef.tmp")
  }

  @Test func theServerTellsWhatIsHeld() throws {
    let (upload, source) = (try upload(), Self.source())
    let session = try #require(upload.ownSession(for: source))
    func held(_ response: Response) -> Result<SessionHoldings, Failure> {
      upload.queried(response, session: session, source: source, now: 0)
    }
    let item = Self.item(Self.temporaryPath, size: 7, etag: "W/&quot;t&quot;")
    let whole = try held(try Self.multi(item)).get()
    #expect(whole.chunks == [0: HeldChunk(size: 7, receipt: "\"t\"")])
    #expect(try held(try Self.multi(Self.item(Self.temporaryPath, size: 6))).get().chunks.isEmpty)
    #expect(losesSession(held(try Self.status(404))))
    #expect(losesSession(held(try Self.multi(Self.refused("404 Not Found", Self.temporaryPath)))))
    for other in [Self.refused("404 Not Found", "/dav/in/x"), Self.item("/dav/in/x", size: 7)] {
      #expect(Wire.code(held(try Self.multi(other))) == .protocolViolation)
    }
    #expect(Wire.code(held(try Self.status(403))) == .forbidden)
  }

  /// The requests of an exchange in a word each, by the answers to them.
  private func words(_ exchange: any Exchange, _ answers: [Response]) throws -> (asked: [String], end: Int?) {
    var (exchange, answers, last, asked) = (exchange, answers[...], Response?.none, [String]())
    while true {
      switch try exchange.next(after: last, now: 0) {
      case .send(let request):
        let suffix = request.headers["Overwrite"].map { " \($0)" } ?? ""
        asked.append("\(request.method)\(suffix) \(request.url.path)")
        guard let next = answers.popFirst() else { return (asked, nil) }
        last = next
      case .end(let response): return (asked, response.status)
      }
    }
  }

  /// Nothing is deleted to make place before the new file is known to be there, and the old one to be a file.
  @Test func aMoveReplacesFilesAlone() throws {
    let upload = try upload()
    let session = try #require(upload.ownSession(for: Self.source()))
    func closing(_ answers: [Response], mustBeNew: Bool = false) throws -> (asked: [String], end: Int?) {
      guard let exchange = upload.closing(session, source: Self.source(mustBeNew: mustBeNew)) else {
        throw Failure(.internal, "no exchange")
      }
      return try words(exchange, answers)
    }
    let (temporary, destination) = (Self.temporaryPath, "/dav/in/a%20b.bin")
    let moved = "MOVE F \(temporary)"
    // Both names in one answer: each question takes what is said of its own.
    func both(_ item: (String) -> String) throws -> Response {
      try Self.multi(item(temporary), item(destination))
    }
    let (file, folder) = (
      try both { Self.item($0, size: 7) }, try both { Self.item($0 + "/", folder: true) }
    )
    let refused = try both { Self.refused("403 Forbidden", $0) }
    let short = try Self.multi(Self.item(destination, size: 7), Self.item(temporary, size: 3))
    let untyped = try both {
      "<D:response><D:href>\($0)</D:href><D:propstat><D:prop/><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
    }
    let other = try Self.multi(Self.item("/dav/in/x", size: 7))
    let new = try closing([try Self.status(201)])
    #expect(new.asked == [moved] && new.end == 201)
    let replaced = try closing([try Self.status(412), file, file, try Self.status(204)])
    #expect(
      replaced.asked == [
        moved, "PROPFIND \(temporary)", "PROPFIND /dav/in/a%20b.bin", "MOVE T \(temporary)",
      ] && replaced.end == 204)
    let gone = try closing([try Self.status(412), file, try Self.status(404), try Self.status(201)])
    #expect(gone.asked.last == moved && gone.end == 201)
    let kept = try closing([try Self.status(412), file], mustBeNew: true)
    #expect(kept.asked == [moved, "PROPFIND \(temporary)"] && kept.end == 412)
    let forbidden = try closing([try Self.status(403), file])
    #expect(forbidden.end == 403)
    let html = try Self.status(200, "<html/>")
    for there in [folder, html, refused, untyped, other, try Self.status(403)] {
      #expect(throws: Failure.self) { try closing([try Self.status(412), file, there]) }
    }
    for arrived in [folder, html, refused, untyped, other, try Self.status(405)] {
      #expect(throws: Failure.self) { try closing([try Self.status(412), arrived, file]) }
    }
    let failure = #expect(throws: Failure.self) { try closing([try Self.status(412), short, file]) }
    #expect(failure?.code == .lengthMismatch && failure?.expected == "7" && failure?.actual == "3")
    #expect(failure?.class == .damaged(chunk: nil), "it is sent again")
    for status in [403, 404, 409, 412] {
      let failure = #expect(throws: Failure.self) {
        try closing([try Self.status(status), try Self.status(404)])
      }
      #expect(failure?.class == .sessionGone, "an earlier MOVE may have done it")
    }
  }

  /// What has arrived of a large file is looked at before it replaces anything; what says nothing of it is no objection.
  @Test func whatHasArrivedIsLookedAtBeforeTheMove() throws {
    let upload = try upload()
    var source = UploadSource(size: (1 << 20) + 1, contentType: "text/plain", chunkSize: 1 << 21)
    source.key = Self.source().key
    let session = try #require(upload.ownSession(for: source))
    let request = try #require(upload.arrival(in: session, of: source))
    #expect(request.method == "PROPFIND" && request.url.path == Self.temporaryPath)
    #expect(
      upload.arrival(in: session, of: Self.source()) == nil,
      "a small file is told by its folder, behind its end")
    func objection(_ answer: Response) -> Failure? { upload.objection(to: answer, in: session, of: source) }
    let short = objection(try Self.multi(Self.item(Self.temporaryPath, size: 1000)))
    #expect(short?.code == .lengthMismatch && short?.class == .damaged(chunk: nil) && short?.actual == "1000")
    for silent in [
      try Self.multi(Self.item(Self.temporaryPath, size: (1 << 20) + 1)), try Self.status(404),
      try Self.status(405),
      try Self.multi(Self.item(Self.temporaryPath)), try Self.multi(Self.item("/dav/in/x", size: 3)),
    ] { #expect(objection(silent) == nil) }
  }

  @Test func aRefusedMoveIsTold() throws {
    let upload = try upload()
    let session = try #require(upload.ownSession(for: Self.source()))
    func end(_ response: Response, mustBeNew: Bool = false) -> Result<UploadedFile, Failure> {
      upload.finalized(
        response, session: session, source: Self.source(mustBeNew: mustBeNew), chunks: [], now: 0)
    }
    #expect(try end(try Self.status(204)).get().remoteID == "in/a b.bin")
    #expect(Wire.code(end(try Self.status(412), mustBeNew: true)) == .destinationExists)
    #expect(throws: Failure.self) { try end(try Self.status(207, "<html>no</html>")).get() }
    let locked = "<D:response><D:href>/dav/in/x</D:href><D:status>HTTP/1.1 423 Locked</D:status></D:response>"
    for response in [try Self.status(423), try Self.multi(locked)] {
      guard case .failure(let failure) = end(response) else { throw Wire.Unexpected(what: "a success") }
      #expect(failure.code == .serverError && failure.class == .transient && failure.httpStatus == 423)
      #expect(upload.refuses(response))
    }
    guard case .failure(let full) = end(try Self.status(507)) else {
      throw Wire.Unexpected(what: "a success")
    }
    #expect(full.code == .diskFull && full.message.contains("no room"))
    let sabre =
      "<d:error xmlns:d=\"DAV:\" xmlns:s=\"http://sabredav.org/ns\"><s:message>Quota \u{fc}</s:message></d:error>"
    guard case .failure(let said) = end(try Self.status(403, sabre)) else {
      throw Wire.Unexpected(what: "a success")
    }
    #expect(said.message.contains("Quota \u{fc}"))
  }

  @Test func missingFoldersAreMadeFromTheTop() throws {
    let upload = try upload("a/b c/d/x")
    func making(_ statuses: Int...) throws -> (asked: [String], end: Int?) {
      let exchange = try #require(upload.remedy(for: try Self.status(409), now: 0))
      return try words(exchange, try statuses.map { try Self.status($0) })
    }
    let (one, two, three) = ("MKCOL /dav/a/", "MKCOL /dav/a/b%20c/", "MKCOL /dav/a/b%20c/d/")
    #expect(try making(201).asked == [three])
    #expect(try making(409, 201, 405).asked == [three, two, three])
    let all = try making(409, 404, 201, 405, 201)
    #expect(all.asked == [three, two, one, two, three] && all.end == 201)
    #expect(throws: Failure.self, "the endpoint's own folder") { try making(409, 409, 409) }
    #expect(throws: Failure.self, "it was made, and is not there") { try making(409, 201, 409) }
    #expect(throws: Failure.self) { try making(403, 403) }
    #expect(try making(301).end == 301, "it is there")
    let raced = try making(403, 405)
    #expect(raced.asked == [three, three] && raced.end == 405, "made by another upload meanwhile")
    #expect(try making(409, 403, 405, 201).asked == [three, two, two, three])
    #expect(try self.upload("x").remedy(for: try Self.status(409), now: 0) == nil)
    #expect(upload.remedy(for: try Self.status(507), now: 0) == nil)
  }

  /// Before a body is sent that the server would refuse at its end.
  @Test(arguments: [[400], [409, 405, 409]]) func aFileInTheFoldersPlaceIsTold(_ refused: [Int]) throws {
    let making = try #require(try upload("a/b/x").remedy(for: try Self.status(409), now: 0))
    func failure(_ last: Response) throws -> Failure? {
      let above = try Self.multi(Self.item("/dav/a/", folder: true))
      do {
        _ = try words(making, try refused.map { try Self.status($0) } + [above, last])
        return nil
      } catch let failure as Failure {
        return failure
      }
    }
    let file = try failure(try Self.multi(Self.item("/dav/a/b", size: 1)))
    #expect(file?.code == .notFound && file?.message.contains("/dav/a/b is a file") == true)
    let folder = try failure(try Self.multi(Self.item("/dav/a/b/", folder: true)))
    #expect(folder?.code == .protocolViolation && folder?.httpStatus == refused.last)
  }

  /// Of a file directly in the endpoint's own folder; any other folder is made first.
  @Test(arguments: [
    ("x", 409, ErrorCode.notFound, true), ("/x", 404, .notFound, true), ("x", 403, .forbidden, false),
    ("a/x", 409, .protocolViolation, false), ("a/x", 404, .notFound, false),
  ])
  func aMissingBaseFolderIsTold(_ path: String, _ status: Int, _ code: ErrorCode, _ isBase: Bool) throws {
    let answer = try Self.status(status, at: "https://h/dav/x")
    let chunk = UploadChunk(index: 0, range: 0..<7)
    guard case .failure(let failure) = try upload(path).accepted(answer, chunk: chunk, now: 0) else {
      throw Wire.Unexpected(what: "a success")
    }
    #expect(failure.code == code && failure.httpStatus == status)
    #expect(failure.message.contains("correct the endpoint's `url`") == isBase, "\(failure.message)")
  }

  @Test func aFileIsLookedAt() throws {
    let upload = try upload()
    let sums =
      "<o:checksums><o:checksum>SHA1:\(String(repeating: "aB", count: 20)) MD5:short ADLER32:01</o:checksum></o:checksums>"
    let text = """
      <D:multistatus xmlns:D="DAV:" xmlns:o="http://owncloud.org/ns"><D:response><D:href>/dav/in/a%20b.bin</D:href><D:propstat><D:prop>
      <D:resourcetype/><D:getcontentlength> 7 </D:getcontentlength><D:getetag>W/"t"</D:getetag>
      <D:getcontenttype>text/x</D:getcontenttype>\(sums)</D:prop>
      <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response></D:multistatus>
      """
    let object = try upload.inspected(try Self.status(207, text), now: 0).get()
    #expect(object.size == 7 && object.etag == "\"t\"" && object.contentType == "text/x")
    #expect(object.digests == [.sha1: String(repeating: "ab", count: 20)])
    #expect(upload.file(object).remoteID == "in/a b.bin")
    #expect(
      Wire.code(upload.inspected(try Self.multi(Self.item("/dav/in/a%20b.bin/", folder: true)), now: 0))
        == .destinationExists)
    #expect(Wire.code(upload.inspected(try Self.status(404), now: 0)) == .notFound)
    #expect(Wire.code(upload.inspected(try Self.status(200, "<html/>"), now: 0)) == .protocolViolation)
  }

  /// What is said of another file proves nothing of this one.
  @Test(arguments: [
    ("/dav/in/\u{fc}+(1).bin", true), ("/dav/in/%C3%BC%2B%281%29.bin", true),
    ("/dav/in/%c3%bc+(1).bin/", true), ("https://h/dav/in/%C3%BC+(1).bin", true),
    ("http://backend:8080/inner/in/%C3%BC+(1).bin", true), ("%C3%BC+(1).bin", true),
    ("/dav/in/u%CC%88+(1).bin", true), ("/dav/in/other.bin", false), ("/dav/other/%C3%BC+(1).bin", false),
    ("/dav/in/%25C3%25BC+(1).bin", false), ("/dav/in/", false), ("/dav/in%2F%C3%BC+(1).bin", false),
    ("ftp://h/dav/in/%C3%BC+(1).bin", false),
  ])
  func aLookIsOfOneFile(_ href: String, _ isIt: Bool) throws {
    let (upload, another) = (try upload("in/\u{fc}+(1).bin"), Self.item("/dav/in/another", size: 9))
    for items in [Self.item(href, size: 7), another + Self.item(href, size: 7)] {
      let found = upload.inspected(try Self.multi(items), now: 0)
      if isIt {
        #expect(try found.get().size == 7)
      } else {
        #expect(Wire.code(found) == .protocolViolation)
      }
    }
  }

  @Test func aDownloadTakesOwnCloudsChecksum() throws {
    let download = WebDAVDownload(url: try Self.url("https://h/dav/x"))
    let sum = String(repeating: "0f", count: 20)
    let head = ResponseHead(
      status: 206, headers: ["Content-Range": "bytes 0-0/7", "OC-Checksum": "SHA1:\(sum)"])
    #expect(download.facts(head, now: 0).digests == [.sha1: sum])
  }
}
