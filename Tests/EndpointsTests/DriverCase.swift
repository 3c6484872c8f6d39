import Endpoints
import JobManifest
import JobModel
import Testing

/// What a kind of endpoint promises, one row a kind. A kind that is registered and has no row fails.
struct DriverCase: Sendable, CustomTestStringConvertible {
  /// A key of the kind: two values as a manifest writes them, and in which directions they are of two stores.
  struct Key: Sendable {
    var name: String
    var value: String
    var other: String
    var tellsStores: Set<Direction>

    init(_ name: String, _ value: String, _ other: String, tellsStores: Set<Direction> = []) {
      (self.name, self.value, self.other, self.tellsStores) = (name, value, other, tellsStores)
    }
  }

  var driver: any EndpointDriver.Type
  var url: String
  /// `auth` in the manifest, for a kind that can't be without one.
  var auth: String?
  var path = "a/b c"
  /// A path that the kind can't have; nil where it takes any.
  var badPath: String?
  var keys: [Key] = []
  /// The facts of the store besides kind and URL: plans are known again by them, so they never change.
  var identity: [Direction: [String]] = [:]
  var firstIdentity: [String] = []
  /// The URL that is asked for the bytes; nil where the direction is refused.
  var asked: [Direction: String]
  /// A session of a server that can all that the kind can.
  var session = RemoteSession(id: "s", chunkSize: 1)

  var testDescription: String { driver.word }

  static let all = [
    DriverCase(
      driver: HTTPDriver.self, url: "https://h/f",
      asked: [.download: "https://h/f/a/b%20c", .upload: "https://h/f/a/b%20c"]),
    DriverCase(
      driver: SessionDriver.self, url: "https://h/api", keys: [Key("chunks", "range", "index")],
      asked: [.download: "https://h/api/files/a/b%20c", .upload: "https://h/api/uploads/sessions"]),
    DriverCase(
      driver: S3Driver.self, url: "https://s3.example.net",
      keys: [
        Key("region", "eu-west-1", "us-east-1"),
        Key("bucket", "box", "other", tellsStores: [.download, .upload]),
        Key("addressing", "auto", "path", tellsStores: [.download, .upload]),
        Key("checksum", "sha256", "none"), Key("multipart_threshold", "32MiB", "64MiB"),
        Key("storage_class", "STANDARD_IA", "GLACIER"), Key("acl", "private", "public-read"),
        Key("cache_control", "no-store", "max-age=60"), Key("tags", "{ a: b }", "{ a: c }"),
        Key("server_side_encryption", "AES256", "\"aws:kms\""), Key("metadata", "{ a: b }", "{ a: c }"),
      ], identity: [.download: ["box"], .upload: ["box"]], firstIdentity: ["box"],
      asked: [
        .download: "https://box.s3.example.net/a/b%20c", .upload: "https://box.s3.example.net/a/b%20c",
      ]),
    DriverCase(
      driver: PresignedDriver.self, url: "https://h/api",
      keys: [
        Key("start", "/begin", "/startUpload", tellsStores: [.upload]),
        Key("urls", "/urls", "/getUploadUrls", tellsStores: [.upload]),
        Key("complete", "\"https://other/end\"", "/complete", tellsStores: [.upload]),
        Key("params", "{ b: c, a: d }", "{ b: c }", tellsStores: [.upload]), Key("url_batch", "8", "4"),
      ], identity: [.upload: ["/begin", "/urls", "https://other/end", "a", "d", "b", "c"]],
      asked: [.download: "https://h/api/a/b%20c", .upload: "https://h/api/begin"]),
    DriverCase(
      driver: KiiDriver.self, url: "https://h/api", path: "one",
      keys: [
        Key("app_id", "app", "second", tellsStores: [.download, .upload]),
        Key("app_key", "{ env: K }", "{ env: L }"),
        Key("scope", "\"user:me\"", "app", tellsStores: [.download, .upload]),
        Key("bucket", "box", "other", tellsStores: [.download, .upload]),
      ], identity: [.download: ["app", "box", "user:me"], .upload: ["app", "box", "user:me"]],
      asked: [
        .download: "https://h/api/apps/app/users/me/buckets/box/objects/one/body",
        .upload: "https://h/api/apps/app/users/me/buckets/box/objects/one/body",
      ]),
    DriverCase(
      driver: SalesforceDriver.self, url: "https://org", path: "068Ab0000004C92", badPath: "no id",
      keys: [Key("api_version", "v60.0", "v62.0"), Key("via", "shepherd", "connect")],
      asked: [.download: "https://org/sfc/servlet.shepherd/version/download/068Ab0000004C92"]),
    DriverCase(
      driver: TusDriver.self, url: "https://h/files",
      keys: [Key("metadata", "{ bucket: box }", "{ bucket: other }", tellsStores: [.upload])],
      identity: [.upload: ["bucket", "box"]],
      asked: [.download: "https://h/files/a/b%20c", .upload: "https://h/files"],
      session: RemoteSession(id: "https://h/files/s", chunkSize: 1, facts: ["checksum": "sha256"])),
    DriverCase(
      driver: WebDAVDriver.self, url: "https://h/dav", badPath: "../x",
      asked: [.download: "https://h/dav/a/b%20c", .upload: "https://h/dav/a/b%20c"]),
    DriverCase(
      driver: SFTPDriver.self, url: "sftp://h:2222/srv", auth: "{ ssh: { user: me, agent: true } }",
      badPath: "../x",
      keys: [
        Key("known_hosts", "/etc/hosts.known", "/etc/hosts.other"),
        Key(
          "host_key", "\"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"",
          "\"SHA256:CAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\""),
      ],
      asked: [.download: "sftp://h:2222/srv/a/b%20c", .upload: "sftp://h:2222/srv/a/b%20c"]),
  ]

  /// A manifest with one endpoint, `e`, of the kind.
  func manifest(_ own: [(name: String, value: String)]) -> String {
    let keys = (auth.map { ", auth: \($0)" } ?? "") + own.map { ", \($0.name): \($0.value)" }.joined()
    return """
      version: 1
      job: kinds
      endpoints: { e: { type: \(driver.word), url: "\(url)"\(keys) } }
      transfers: [{ id: one, download: "http://h/x", to: x }]
      """
  }

  func read(_ own: [(name: String, value: String)]) -> ManifestResult {
    ManifestReader.read(manifest(own), path: "job.yaml", directory: "/srv", environment: { _ in nil })
  }

  /// The endpoint that the row describes; with another value for one key.
  func endpoint(changing name: String? = nil) throws -> Endpoint {
    let result = read(keys.map { ($0.name, $0.name == name ? $0.other : $0.value) })
    #expect(result.diagnostics.isEmpty, "\(result.diagnostics)")
    return try #require(result.job?.endpoints["e"])
  }
}
