import Digests
import Endpoints
import JobModel
import Testing

/// Paths, names and host keys of `sftp` endpoints.
struct SFTPTests {
  private func path(_ path: String, _ url: String) throws -> SFTPPath {
    SFTPPath(path, below: try #require(WebURL(endpoint: url)))
  }

  @Test func pathsLieBelowTheBase() throws {
    let cases: [(url: String, path: String, text: String, folders: [String])] = [
      ("sftp://h/srv/up", "a/b/c.bin", "/srv/up/a/b/c.bin", ["/srv/up/a", "/srv/up/a/b"]),
      ("sftp://h:2222/srv/up", "c.bin", "/srv/up/c.bin", []), ("sftp://h", "a/c", "/a/c", ["/a"]),
      ("sftp://h/~", "a/c", "a/c", ["a"]), ("sftp://h/~/up", "a/c", "up/a/c", ["up/a"]),
      ("sftp://h/a%20b", "x y", "/a b/x y", []), ("sftp://h/d", "e/\u{301}x", "/d/e/\u{301}x", ["/d/e"]),
    ]
    for one in cases {
      let found = try path(one.path, one.url)
      #expect(
        found.text.utf8.elementsEqual(one.text.utf8) && found.folders == one.folders, "\(one.url) \(one.path)"
      )
    }
    #expect(try path("a/b", "sftp://h/d").sibling(".x").text == "/d/a/.x")
    #expect(try path("b", "sftp://h/~").sibling(".x").text == ".x")
  }

  @Test func urlsAreReadForEndpointsAlone() throws {
    let url = try #require(WebURL(endpoint: "SFTP://Files.example.net:2222/srv"))
    #expect(url.scheme == "sftp" && url.port == 2222 && url.origin == "sftp://files.example.net:2222")
    #expect(
      WebURL(endpoint: "sftp://h/")?.origin == "sftp://h" && WebURL(endpoint: "sftp://h:22/")?.port == 22)
    #expect(WebURL("sftp://h/a") == nil, "a server that redirects there is not followed")
    #expect(WebURL("https://h/a")?.resolving("sftp://h/a") == nil)
  }

  /// A server's word makes no file run as its owner.
  @Test func downloadsGetPermissionsAlone() {
    var attributes = SFTPAttributes()
    for (mode, bits) in [(0o104755, 0o755), (0o102640, 0o640), (0o101777, 0o777)] as [(UInt32, UInt16)] {
      attributes.mode = mode
      #expect(SFTPDownload.object(attributes).attributes.mode == bits)
    }
  }

  /// What a session remembers of its chunks; nonsense is no proof.
  @Test func chunksAreRemembered() {
    func proved(_ facts: [String: String]) -> Set<Int> {
      SFTPUpload.chunks(.proved, by: RemoteSession(id: "a", chunkSize: 1, facts: facts), of: 50)
    }
    for chunks in [[], [0], [0, 1, 2], [3, 5, 6, 7, 49]] as [Set<Int>] {
      #expect(proved(SFTPUpload.facts(proved: chunks, refuted: [9])) == chunks)
    }
    let facts = SFTPUpload.facts(proved: [5, 0, 1, 6, 3], refuted: [7])
    #expect(facts == ["proved": "0-1,3,5-6", "refuted": "7"])
    for text in ["x", "3-1", "-", "-1", "1-2-3", "50", "60-70", "1-x", "\(Int.max)-\(Int.max)"] {
      #expect(proved(["proved": text]).isEmpty, "\(text)")
    }
    #expect(proved(["proved": "48-\(Int.max)"]) == [48, 49])
    #expect(proved([:]).isEmpty)
  }

  /// Version 3 tells whole seconds: the next one would be another time.
  @Test func aTimeLosesItsFractionAlone() throws {
    let url = try #require(WebURL(endpoint: "sftp://h/srv"))
    guard case .direct(let direct) = SFTPDriver().uploadAccess("a", at: url),
      let upload = direct as? SFTPUpload
    else {
      Issue.record("sftp uploads by itself")
      return
    }
    var source = UploadSource(size: 7, contentType: "text/plain", chunkSize: 7)
    source.key = String(repeating: "a", count: 32)
    for (time, kept) in [
      (1_763_999_000_999_999_999, 1_763_999_000), (1_763_999_000_000_000_001, 1_763_999_000), (0, 0),
      // Version 3 has no such times.
      (-1, 5), (.max, 5),
    ] as [(Int64, UInt32)] {
      source.preserved.mtime = time
      #expect(upload.attributes(upload.session(for: source, now: 5)).modified == kept)
      let isKept = SFTPDriver.abilities.keeps(of: source.preserved).contains(.mtime)
      #expect(isKept == (kept != 5), "\(time)")
    }
  }

  // MARK: Host keys

  private static let key: [UInt8] = {
    var key = SSHWriter()
    key.string("ssh-ed25519")
    key.string([UInt8](repeating: 7, count: 32))
    return key.bytes
  }()
  private static let other: [UInt8] = {
    var key = SSHWriter()
    key.string("ssh-rsa")
    key.string([UInt8](repeating: 9, count: 64))
    return key.bytes
  }()
  private static let line = "ssh-ed25519 " + Base64.encode(key)
  private static let otherLine = "ssh-rsa " + Base64.encode(other)

  @Test func hostKeysAreKnown() throws {
    let salt = [UInt8](1...20)
    let hash = try HMAC.sha1(Array("[h.example]:2222".utf8), key: salt)
    let hashed = "|1|\(Base64.encode(salt))|\(Base64.encode(hash))"
    let changed = KnownHosts.Match.changed([try SSHFingerprint.of(Self.other)])
    let cases: [(text: String, host: String, port: Int, KnownHosts.Match)] = [
      ("h.example \(Self.line)", "h.example", 22, .known),
      ("H.Example,other \(Self.line) words behind", "h.example", 22, .known),
      ("h.example \(Self.line)", "h.example", 2222, .unknown),
      ("[h.example]:2222 \(Self.line)", "h.example", 2222, .known),
      ("\(hashed) \(Self.line)", "h.example", 2222, .known),
      ("\(hashed) \(Self.line)", "h.example", 22, .unknown),
      ("*.example \(Self.line)", "h.example", 22, .known),
      ("h?example \(Self.line)", "h.example", 22, .known),
      ("*.example,!h.example \(Self.line)", "h.example", 22, .unknown),
      ("h.example \(Self.otherLine)", "h.example", 22, changed),
      ("h.example \(Self.otherLine)\nh.example \(Self.line)", "h.example", 22, .known),
      ("@revoked h.example \(Self.line)\nh.example \(Self.line)", "h.example", 22, .revoked),
      ("@cert-authority h.example \(Self.line)", "h.example", 22, .unknown),
      ("# h.example \(Self.line)\n\nh.example ssh-ed25519 ???", "h.example", 22, .unknown),
      ("", "h.example", 22, .unknown),
    ]
    for one in cases {
      #expect(
        try KnownHosts(one.text).match(Self.key, of: one.host, port: one.port) == one.3, "\(one.text)")
    }
    let both = KnownHosts("h \(Self.otherLine)\nh \(Self.line)\n@revoked h ecdsa-sha2-nistp256 AAAA")
    #expect(try both.types(of: "h", port: 22) == ["ssh-rsa", "ssh-ed25519"])
    #expect(SSHFingerprint.type(Self.key) == "ssh-ed25519" && SSHFingerprint.type([1]) == "unknown")
  }

  @Test func keysAreToldByTheirFiles() {
    func openSSH(_ cipher: String) -> String {
      var body = SSHWriter()
      body.string(cipher)
      let text = Base64.encode(Array("openssh-key-v1".utf8) + [0] + body.bytes)
      return "-----BEGIN OPENSSH PRIVATE KEY-----\n\(text)\n-----END OPENSSH PRIVATE KEY-----\n"
    }
    let cases: [(String, SSHKeyFile.Form)] = [
      (openSSH("none"), .plain), (openSSH("aes256-ctr"), .encrypted),
      ("-----BEGIN RSA PRIVATE KEY-----\nMIIB\n", .plain),
      ("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: x\n\nMIIB\n", .encrypted),
      ("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n", .encrypted), ("ssh-ed25519 AAAA me", .publicKey),
      ("-----BEGIN PUBLIC KEY-----\nMIIB\n", .publicKey),
      ("-----BEGIN OPENSSH PRIVATE KEY-----\n!!\n", .unknown),
      ("", .unknown), ("hello", .unknown),
    ]
    for (text, form) in cases { #expect(SSHKeyFile.form(of: Array(text.utf8)) == form, "\(text)") }
  }

  /// Its public half is not encrypted, whatever the rest is.
  @Test func rsaKeysAreToldByTheirFiles() {
    func openSSH(_ type: String) -> String {
      var (key, body) = (SSHWriter(), SSHWriter())
      key.string(type)
      for text in ["aes256-ctr", "bcrypt", "salt"] { body.string(text) }
      body.uint32(1)
      body.string(key.bytes)
      let text = Base64.encode(Array("openssh-key-v1".utf8) + [0] + body.bytes)
      return "-----BEGIN OPENSSH PRIVATE KEY-----\n\(text)\n-----END OPENSSH PRIVATE KEY-----\n"
    }
    func pem(_ head: [UInt8]) -> String {
      "-----BEGIN PRIVATE KEY-----\n\(Base64.encode(head))\n-----END PRIVATE KEY-----\n"
    }
    let cases: [(String, Bool)] = [
      (openSSH("ssh-rsa"), true), (openSSH("ssh-ed25519"), false),
      ("-----BEGIN RSA PRIVATE KEY-----\nMIIB\n", true), ("-----BEGIN EC PRIVATE KEY-----\nMIIB\n", false),
      (
        pem([
          0x30, 0x82, 1, 0x54, 2, 1, 0, 0x30, 0x0D, 6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 1, 5, 0,
        ]), true
      ),
      (pem([0x30, 0x2E, 2, 1, 0, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 4, 0x22]), false), ("", false),
      ("-----BEGIN OPENSSH PRIVATE KEY-----\n!!\n", false),
    ]
    for (text, isRSA) in cases { #expect(SSHKeyFile.isRSA(Array(text.utf8)) == isRSA, "\(text)") }
  }

  // MARK: Listings

  private func name(_ name: String, _ mode: UInt32, size: UInt64 = 1) -> SFTPReply.Name {
    var attributes = SFTPAttributes()
    (attributes.size, attributes.mode, attributes.modified) = (size, mode, 5)
    return SFTPReply.Name(Array(name.utf8), attributes)
  }

  @Test func foldersAreWalked() throws {
    let url = try #require(WebURL(endpoint: "sftp://h/srv"))
    guard case .direct(let direct) = SFTPDriver().listingAccess(at: url),
      let listing = direct as? SFTPListing
    else {
      Issue.record("sftp lists by itself")
      return
    }
    let turn = try listing.turn(nil, of: "in/")
    #expect(turn.folder.text == "/srv/in")
    let temporary = SFTPNames.temporary(String(repeating: "a", count: 32))
    let page = try turn.listed([
      name(".", 0o040755), name("..", 0o040755), name("b", 0o100644), name("a", 0o100644, size: 3),
      name("deep", 0o040755), name("link", 0o120777), name("pipe", 0o010644), name(temporary, 0o100600),
    ])
    #expect(page.entries.map(\.path) == ["a", "b", "link", "pipe"])
    #expect(page.entries.map(\.size) == [3, 1, nil, nil])
    #expect(page.entries.map(\.nonFile) == [nil, nil, .link, .special])
    #expect(page.next != nil)
    let next = try listing.turn(page.next, of: "in/")
    #expect(next.folder.text == "/srv/in/deep")
    #expect(try next.listed([name("c", 0o100644)]).entries.map(\.path) == ["deep/c"])
    let bad = SFTPReply.Name([0xFF], SFTPAttributes())
    #expect(throws: Failure.self) { try turn.listed([bad]) }
    #expect(throws: Failure.self) { try turn.listed([name("a/b", 0o100644)]) }
  }
}
