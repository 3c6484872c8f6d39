import Digests
import Endpoints
import Foundation
import JobModel
import Synchronization
import TestSupport

/// The running server of a kind, and what is done there behind an endpoint's back.
struct KindServer: Sendable {
  /// Nil for a local folder.
  var endpoint: Endpoint?
  /// Where the server keeps its files, where those can be looked at.
  var folder: String?
  /// The secret that the server takes, and one that it took once.
  var fresh = ""
  var stale: String?
  /// A path that nothing is at.
  var missing = "missing"
  /// Puts an object there, under a name that may be taken, and gives its path; nil where only the kind itself can.
  var store: (@Sendable (_ name: String, _ bytes: [UInt8]) async throws -> String)?
  /// The SHA-256 of what an upload has made; nil where there is nothing.
  var digest: @Sendable (_ path: String, UploadedFile) async throws -> String?
  var stop: @Sendable () async -> Void = {}

  /// A server whose objects are files of a folder.
  init(_ endpoint: Endpoint?, folder: String) throws {
    (self.endpoint, self.folder) = (endpoint, folder)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    store = { name, bytes in
      try Self.write(bytes, to: folder + "/" + name)
      return name
    }
    digest = { path, _ in try Self.digest(folder + "/" + path) }
  }

  private static let token = "token-of-today"

  static func endpoint(_ driver: any EndpointDriver, _ url: String, _ auth: Authentication = .none)
    -> Endpoint
  {
    Endpoint(name: "e", driver: driver, url: url, authentication: auth)
  }

  /// Replaces a file, as a new one with a time of its own.
  static func write(_ bytes: [UInt8], to path: String) throws {
    let new = path + ".new"
    try Data(bytes).write(to: URL(fileURLWithPath: new))
    // Some servers tell versions by whole seconds.
    let time = Date(
      timeIntervalSince1970: Double(1_600_000_000 + Self.times.add(1, ordering: .relaxed).newValue))
    try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: new)
    guard rename(new, path) == 0 else { throw TestFault("can't replace `\(path)`: errno \(errno)") }
  }
  private static let times = Atomic<Int>(0)

  static func digest(_ path: String) throws -> String? {
    guard let data = FileManager.default.contents(atPath: path) else { return nil }
    return try Digest.hex(of: Array(data), .sha256)
  }

  private mutating func takes(_ fresh: String, once stale: String) {
    (self.fresh, self.stale) = (fresh, stale)
  }

  // MARK: Kinds

  static func local(_ bench: Bench) throws -> KindServer {
    try KindServer(nil, folder: bench.scratch.path + "/local")
  }

  static func http(_ bench: Bench) async throws -> KindServer {
    let nginx = try await Nginx(bench)
    return try KindServer(endpoint(HTTPDriver(), nginx.url + "/http"), folder: bench.served + "/http")
  }

  static func webdav(_ make: DAVServer.Make, _ bench: Bench) async throws -> KindServer {
    let dav = try await DAVServer(make, bench)
    var server = try KindServer(
      endpoint(
        WebDAVDriver(), dav.url, .basic(user: DAVServer.user, password: .environment("DAV_PASSWORD"))),
      folder: dav.folder)
    server.takes(DAVServer.password, once: "dav-pass-of-yesterday")
    let folder = dav.folder
    server.store = { name, bytes in
      try FileManager.default.createDirectory(
        atPath: ((folder + "/" + name) as NSString).deletingLastPathComponent,
        withIntermediateDirectories: true)
      try write(bytes, to: folder + "/" + name)
      return name
    }
    return server
  }

  static func sftp(_ make: SSHServer.Make, _ bench: Bench) async throws -> KindServer {
    // Its tests write the last chunk first.
    let ssh = try await SSHServer(
      make, bench, options: ["--vfs-cache-mode", "writes", "--vfs-write-back", "0s"])
    var login = SSHAuthentication(user: ssh.user)
    if make == .openssh {
      login.keyFile = ssh.own + "/user"
    } else {
      login.password = .environment("SFTP_PASSWORD")
    }
    var driver = SFTPDriver()
    driver.trust.knownHosts = ssh.knownHosts
    var server = try KindServer(endpoint(driver, ssh.url, .ssh(login)), folder: ssh.folder)
    server.takes(SSHServer.password, once: "sftp-pass-of-yesterday")
    let folder = ssh.folder
    server.digest = { path, _ in
      let file = folder + "/" + path
      guard make == .rclone else { return try digest(file) }
      // rclone brings what it has cached to the folder when it finds the time, also more than once.
      var (before, still) = (String?.none, 0)
      for _ in 0..<300 where still < 20 {
        let now = try digest(file)
        still = now != nil && now == before ? still + 1 : 0
        before = now
        try await Task.sleep(for: .milliseconds(100))
      }
      return before
    }
    server.store = { name, bytes in
      try FileManager.default.createDirectory(
        atPath: ((folder + "/" + name) as NSString).deletingLastPathComponent,
        withIntermediateDirectories: true)
      try write(bytes, to: folder + "/" + name)
      return name
    }
    return server
  }

  static func session(_ bench: Bench) async throws -> KindServer {
    let folder = bench.scratch.path + "/depot"
    var server = try KindServer(nil, folder: folder)
    let (url, stop) = try await DepotInProcess.start(folder, token: token)
    server.endpoint = endpoint(SessionDriver(), url, bearer)
    server.takes(token, once: "token-of-yesterday")
    server.stop = stop
    return server
  }

  static func s3(_ bench: Bench) async throws -> KindServer {
    let keys = """
      {"\(StrictS3.id)": {"secret": "\(StrictS3.secret)"}, "AKIDSTALE": {"secret": "\(StrictS3.secret)", "requests": 0}}
      """
    let store = try await StrictS3(bench, config: ["\"page\": 2"], keys: keys)
    var server = try bucket(bench, store.url)
    server.takes(StrictS3.id, once: "AKIDSTALE")
    server.digest = { path, _ in
      // It answers first, and writes its log then.
      for _ in 0..<200 {
        if let found = store.log().last(where: { $0.key == path && $0.published != nil }) {
          return found.published
        }
        try await Task.sleep(for: .milliseconds(10))
      }
      return nil
    }
    return server
  }

  static func moto(_ bench: Bench) async throws -> KindServer {
    let moto = try await Moto(bench)
    var server = try bucket(bench, moto.url)
    server.fresh = "testing"
    server.digest = { path, _ in try moto.digest(path) }
    return server
  }

  /// A bucket that keeps no files that could be looked at.
  private static func bucket(_ bench: Bench, _ url: String) throws -> KindServer {
    var settings = S3Settings()
    settings.bucket = "bkt"
    settings.multipartThreshold = 5 << 20
    var server = try KindServer(
      endpoint(S3Driver(settings), url, .aws(.environment)), folder: bench.scratch.path + "/none")
    (server.folder, server.store) = (nil, nil)
    return server
  }

  static func presigned(_ bench: Bench) async throws -> KindServer {
    let backEnd = try await PresignedServer(bench, token: token)
    var server = try KindServer(
      endpoint(PresignedDriver(), backEnd.url + "/api", bearer), folder: bench.served)
    server.takes(token, once: "token-of-yesterday")
    server.missing = "files/missing"
    server.store = { name, bytes in
      try write(bytes, to: bench.served + "/" + name)
      return "files/" + name
    }
    server.digest = { _, file in try file.remoteID.flatMap { try digest(backEnd.objects + "/" + $0) } }
    return server
  }

  static func kii(_ bench: Bench) async throws -> KindServer {
    let folder = try bench.served("kii")
    let objects = (["missing"] + (0..<500).map { "x\($0)" }).map { "\"\($0)\"" }.joined(separator: ",")
    let fake = try await StrictFake(
      bench, .kii, options: ["\"objects\": [\(objects)]", try bench.token(token, "kii")], folder: folder)
    var driver = KiiDriver()
    (driver.settings.appID, driver.settings.bucket) = ("app", "box")
    var server = try KindServer(endpoint(driver, fake.url + "/api", bearer), folder: folder)
    server.takes(token, once: "token-of-yesterday")
    return server
  }

  static func tus(_ bench: Bench) async throws -> KindServer {
    let folder = try bench.served("tus")
    let fake = try await StrictFake(bench, .tus, options: [try bench.token(token, "tus")], folder: folder)
    var server = try KindServer(endpoint(TusDriver(), fake.url + "/files", bearer), folder: folder)
    server.takes(token, once: "token-of-yesterday")
    server.missing = "0123456789abcdef"
    server.store = { _, bytes in
      let id = String(UInt64.random(in: 1 << 63 ... .max), radix: 16)
      try write(bytes, to: folder + "/" + id)
      let facts =
        "{\"size\": \(bytes.count), \"offset\": \(bytes.count), \"metadata\": {}, \"expires\": null}"
      try write(Array(facts.utf8), to: folder + "/" + id + ".json")
      return id
    }
    server.digest = { _, file in
      try file.remoteID.flatMap { try digest(folder + "/" + ($0.split(separator: "/").last ?? "none")) }
    }
    return server
  }

  static func tuspyserver(_ bench: Bench) async throws -> KindServer {
    let real = try await TusServer(bench, folder: bench.scratch.path + "/tuspy")
    var server = try KindServer(endpoint(TusDriver(), real.url + "/files", bearer), folder: real.folder)
    server.fresh = token
    // An id is the server's to give.
    server.store = nil
    server.digest = { _, file in try digest(real.path(of: file.remoteID)) }
    return server
  }

  static func salesforce(_ bench: Bench) async throws -> KindServer {
    let organisation = try await SalesforceServer(bench, [])
    let grant = [
      "grant_type=client_credentials", "client_id=\(SalesforceServer.clientID)",
      "client_secret=\(SalesforceServer.clientSecret)",
    ].joined(separator: "&")
    let response = try Sums.shell(
      "curl -s -d '\(grant)' \(organisation.url)/services/oauth2/token", in: "/")
    guard let token = try JSON.parse(response)["access_token"].string else { throw TestFault(response) }
    var server = try KindServer(endpoint(SalesforceDriver(), organisation.url, bearer), folder: bench.served)
    server.takes(token, once: "token-of-yesterday")
    server.missing = "069000000000000"
    let versions = Mutex<[SalesforceServer.Version]>([])
    server.store = { name, bytes in
      let document = "069" + String(repeating: "0", count: 12 - name.count) + name
      try versions.withLock { versions in
        let number = versions.count + 1
        let id = "068" + String(repeating: "0", count: 12 - "\(number)".count) + "\(number)"
        try write(bytes, to: bench.served + "/" + id)
        versions.append(SalesforceServer.Version(id, of: document, number: number, file: id))
        try organisation.hold(versions)
      }
      return document
    }
    return server
  }

  private static let bearer = Authentication.bearer(.environment("TOKEN"))
}

extension Bench {
  /// A folder that servers offer.
  fileprivate func served(_ name: String) throws -> String { try scratch.folder("served/" + name) }

  /// The option of a fake that takes this token alone.
  fileprivate func token(_ token: String, _ name: String) throws -> String {
    "\"token_file\": \"\(try scratch.write(name + ".token", token))\""
  }
}
