import Endpoints
import JobManifest
import JobModel
import Testing

/// Each fault of the top level, of endpoints and of policies, at its place.
@Suite struct BrokenTopLevelTests {
  static let yaml: [Broken] = [
    Broken(text: "!\n▶", message: "the manifest is empty"),
    Broken(text: "!\n▶- a", message: "a manifest is a mapping"),
    Broken(text: "!\nversion: 1\njob: a\n▶job", message: "could not find expected ':'"),
    Broken(
      text: "!\nversion: 1\njob: a\n▶job: b\ntransfers:\n" + Broken.plain,
      message: "the key `job` is there already, at line 2, column 1"),
    Broken(
      text:
        "!\nversion: 1\njob: a\ntransfers:\n  - { id: a, download: \"http://h/x\", to: x }\n▶---\njob: b\n",
      message: "a second document"),
    Broken(text: "x-a: &a [1]\nx-b: ▶*nope", message: "no anchor `&nope`"),
    Broken(text: "x-a: &a [▶*a]", message: "stands inside what it names"),
    Broken(text: "x-a: [▶*.mov]", message: "YAML can't read this value"),
    Broken(text: "description: ▶@team", message: "cannot start any token"),
    Broken(text: "description: ▶`code`", message: "cannot start any token"),
    Broken(text: "description: ▶%d", message: "cannot start any token"),
    Broken(text: "  - { id: a, download: ▶depot:${var.set}, to: x }", message: "YAML can't read this value"),
    Broken(text: "  - id: a\n    to: ▶depot:\n    upload: x: y", message: "YAML can't read"),
    Broken(text: "policies:\n▶\ta: 1", message: "found character that cannot start any token"),
    Broken(text: "x-t: ▶!custom a", message: "the tag `!custom` is not supported"),
    Broken(text: "x-m: { <<: ▶a }", message: "`<<` merges a mapping"),
  ]

  static let top: [Broken] = [
    Broken(
      text: "!\n▶job: a\ntransfers:\n  - { id: a, download: \"http://h/x\", to: x }",
      message: "a job needs `version`"),
    Broken(
      text: "!\n▶version: 1\ntransfers:\n  - { id: a, download: \"http://h/x\", to: x }",
      message: "a job needs `job`"),
    Broken(text: "!\n▶version: 1\njob: a\n", message: "a job needs `transfers`"),
    Broken(text: "!\nversion: 1\njob: a\ntransfers: ▶[]", message: "has no transfers"),
    Broken(text: "!\nversion: 1\njob: a\ntransfers: ▶x", message: "a list is wanted"),
    Broken(
      text: "!\nversion: ▶2\njob: a\ntransfers:\n  - { id: a, download: \"http://h/x\", to: x }",
      message: "version `2` is not known"),
    Broken(
      text: "!\nversion: 1\njob: ▶Nightly\ntransfers:\n  - { id: a, download: \"http://h/x\", to: x }",
      message: "is not a job's name"),
    Broken(text: "▶defualts: {}", message: "a job has no key `defualts`"),
    Broken(text: "imports: ▶a.yaml", message: "a list of files is wanted"),
    Broken(text: "allow_outside: ▶yes", message: "`yes` is not a boolean"),
    Broken(text: "▶prune: true", message: "`prune` is reserved for a later version"),
    Broken(text: "▶copy: x", message: "`copy`"),
    Broken(text: "policies: { p: { ▶limits: {} } }", message: "`limits` does not belong into a policy"),
    Broken(text: "limits: ▶3", message: "a mapping is wanted"),
    Broken(text: "limits: { ▶bandwith: 1MB/s }", message: "`limits` has no key `bandwith`"),
    Broken(text: "limits: { ▶deadline: 1h }", message: "`deadline` does not belong into `limits`"),
    Broken(text: "limits: { ▶parallel: 3 }", message: "`limits` has no key `parallel`"),
    Broken(text: "limits: { transfers: ▶0 }", message: "out of range"),
    Broken(text: "limits: { connections: ▶many }", message: "not a whole number"),
    Broken(text: "limits: { connections: { ▶perhost: 3 } }", message: "no key `perhost`"),
    Broken(text: "limits: { bandwidth: ▶20MB }", message: "`20MB` is not a rate"),
    Broken(text: "limits: { budget: ▶{ bytes: 1GB } }", message: "needs `per`"),
    Broken(text: "▶bandwidth: 1MB/s", message: "`bandwidth` does not belong into a job"),
    Broken(text: "description: ▶[a]", message: "a value is wanted"),
    Broken(text: "defaults:▶", message: "has no value"),
    Broken(text: "defaults: { ▶to: x }", message: "`to` does not belong into `defaults`"),
    Broken(text: "defaults: { chunk_size: ▶8mb }", message: "`8mb` is not a size"),
    Broken(text: "defaults: { policy: ▶office }", message: "the policy `office` is not declared"),
  ]

  static let notices: [Broken] = [
    Broken(text: "on: ▶[a]", message: "a mapping is wanted"),
    Broken(text: "on: { ▶failed: [] }", message: "`on` has no key `failed`"),
    Broken(text: "on: { end: ▶{ ping: \"http://h\" } }", message: "a list is wanted"),
    Broken(text: "on: { end: [▶{}] }", message: "exactly one of `command`, `webhook` and `ping`"),
    Broken(
      text: "on: { end: [▶{ ping: \"http://h\", command: [a] }] }",
      message: "exactly one of `command`, `webhook` and `ping`"),
    Broken(text: "on: { end: [{ ping: ▶\"ftp://h\" }] }", message: "not an absolute http or https URL"),
    Broken(
      text: "on: { end: [{ webhook: { url: \"http://h\", json: { a: ▶12345678901234567890 } } }] }",
      message: "JSON can't hold the number"),
    Broken(
      text: "on: { end: [{ webhook: { url: \"http://h\", json: { a: [▶.inf] } } }] }",
      message: "JSON can't hold the number"),
    Broken(text: "on: { end: [{ command: ▶mail me }] }", message: "a program and its arguments"),
    Broken(text: "on: { end: [{ command: ▶[] }] }", message: "names no program"),
    Broken(text: "on: { end: [{ webhook: ▶{ json: {} } }] }", message: "needs `url`"),
    Broken(
      text: "on: { end: [{ webhook: { url: \"http://h\", sign: ▶abc } }] }",
      message: "a secret is never written"),
    Broken(
      text: "on: { end: [{ webhook: { url: \"http://h\", headers: { Authorization: ▶x } } }] }",
      message: "a secret is never written"),
    Broken(text: "on: { end: [{ command: [a, ▶\"${run.nmber}\"] }] }", message: "`${run.nmber}` is unknown"),
    Broken(text: "on: { end: [{ command: [a, ▶\"${each.x}\"] }] }", message: "can't be used in `command`"),
    Broken(
      text: "  - { id: a, download: depot:x, to: ▶\"${run.outcome}\" }", message: "can't be used in `to`"),
  ]

  static let policies: [Broken] = [
    Broken(text: "policies: { p: { ▶bandwith: 1MB/s } }", message: "no key `bandwith`"),
    Broken(text: "policies: { p: { bandwidth: ▶20MB } }", message: "`20MB` is not a rate"),
    Broken(text: "policies: { p: { bandwidth: ▶0/s } }", message: "at least 1 byte"),
    Broken(text: "policies: { p: { bandwidth: { download: ▶fast } } }", message: "is not a rate"),
    Broken(text: "policies: { p: { transfers: ▶many } }", message: "not a whole number"),
    Broken(text: "policies: { p: { transfers: ▶0 } }", message: "out of range"),
    Broken(text: "policies: { p: { deadline: ▶6 } }", message: "`6` is not a duration"),
    Broken(text: "policies: { p: { deadline: ▶0s } }", message: "`deadline` must be longer than 0s"),
    Broken(text: "policies: { p: { timezone: ▶Europe/Berln } }", message: "is not a time zone"),
    Broken(text: "policies: { p: { window: [{ from: ▶25:00, to: 06:00 }] } }", message: "not a time of day"),
    Broken(text: "policies: { p: { window: [▶{ from: 20:00 }] } }", message: "needs `to`"),
    Broken(
      text: "policies: { p: { schedule: [{ days: ▶mon-fry, from: 08:00, to: 19:00, bandwidth: 2MB/s }] } }",
      message: "not a day or a range of days"),
    Broken(
      text: "policies: { p: { window: [{ days: ▶[], from: 08:00, to: 19:00 }] } }", message: "names no day"),
    Broken(text: "policies: { p: { tls: { ca_file: ▶~/ca.pem } } }", message: "which haul does not expand"),
    Broken(text: "policies: { p: { tls: { min_version: ▶1.4 } } }", message: "not a version of TLS"),
    Broken(text: "policies: { p: { budget: { bytes: 5GiB, per: ▶year } } }", message: "`year` is not known"),
    Broken(text: "policies: { p: { fail_fast: { share: ▶120% } } }", message: "not a share"),
    Broken(text: "policies: { p: { fail_fast: ▶{} } }", message: "neither `failures` nor `share`"),
    Broken(text: "policies: { p: { retry: { jitter: ▶ful } } }", message: "`ful` is not known"),
    Broken(text: "policies: { p: { retry: { multiplier: ▶0.5 } } }", message: "not a multiplier"),
    Broken(text: "policies: { p: { retry: { initial: ▶2m, max: 60s } } }", message: "longer than `max`"),
    Broken(
      text: "policies: { p: { network: { addresses: { deny: [private, ▶10.0.0.0/33] } } } }",
      message: "prefix length"),
    Broken(
      text: "policies: { p: { network: { hosts: { allow: [▶\"http://a\"] } } } }", message: "not a host"),
    Broken(text: "policies: { p: { network: { ip: ▶5 } } }", message: "`5` is not known"),
    Broken(
      text: "policies: { p: { network: { proxy: ▶\"http://u:p@h:1\" } } }",
      message: "never written in the manifest"),
    Broken(text: "policies: { p: { tls: { pinned_keys: [▶\"sha256//x\"] } } }", message: "not a pinned key"),
    Broken(text: "policies: { p: { tls: { insecure: ▶no } } }", message: "`no` is not a boolean"),
    Broken(text: "policies: { p: { http: { headers: { ▶\"X Y\": a } } } }", message: "not a header's name"),
  ]

  static let endpoints: [Broken] = [
    Broken(text: endpoint("type: ▶ftp, url: \"https://h\""), message: "no endpoint type `ftp`"),
    Broken(text: endpoint("▶url: \"https://h\""), message: "needs `type`"),
    Broken(text: endpoint("type: http, url: ▶\"ftp://h\""), message: "not an absolute http or https URL"),
    Broken(text: endpoint("type: http, url: ▶\"https://u:p@h\""), message: "a secret is never written"),
    Broken(text: endpoint("type: http, url: ▶\"https://h/?a=1\""), message: "no query"),
    Broken(text: endpoint("type: http, ▶region: eu, url: \"https://h\""), message: "no key `region`"),
    Broken(
      text: endpoint("type: session, chunks: ▶indexed, url: \"https://h\""), message: "`indexed` is not known"
    ),
    Broken(
      text: endpoint("type: kii, url: ▶\"https://h\", app_id: a, app_key: { env: K }, bucket: b"),
      message: "ends in `/api`"),
    Broken(
      text: endpoint("type: tus, url: \"https://h\", metadata: ▶{ \"a b\": c }"),
      message: "is not ASCII without"),
    Broken(
      text: endpoint("type: tus, url: \"https://h\", metadata: ▶{ filename: c }"),
      message: "each transfer's own"),
    Broken(
      text: endpoint("type: http, url: \"https://h\", auth: { bearer: ▶abc }"),
      message: "a secret is never written"),
    Broken(
      text: endpoint("type: http, url: \"https://h\", auth: { basic: ▶{ user: a } }"),
      message: "needs `password`"),
    Broken(
      text: endpoint("type: http, url: \"https://h\", auth: { bearer: ▶\"${env.T}\" }"),
      message: "a secret is never written"),
    Broken(
      text: endpoint(
        "type: http, url: \"https://h\", auth: { basic: { user: ▶\"${env.U}\", password: { env: P } } }"),
      message: "is refused in `user`"),
    Broken(
      text: endpoint("type: http, url: \"https://h\", auth: ▶{ bearer: { env: A }, netrc: true }"),
      message: "exactly one form"),
    Broken(
      text: endpoint("type: http, url: \"https://h\", auth: ▶{ x-a: 1 }"), message: "exactly one form"),
    Broken(
      text: endpoint("type: http, url: \"https://h\", auth: { bearer: { env: ▶$T } }"),
      message: "not the name of an environment variable"),
    Broken(
      text: endpoint(
        "type: http, url: \"https://h\", auth: { oauth2: ▶{ grant: refresh_token, token_url: \"https://t\", client_id: c } }"
      ), message: "needs `refresh_token`"),
    Broken(
      text: endpoint("type: http, url: \"https://h\", headers: { Authorization: ▶\"Bearer x\" }"),
      message: "a secret is never written"),
    Broken(
      text: endpoint("type: http, url: \"https://h\", headers: { X-A: ▶\"a\\r\\nX-B: b\" }"),
      message: "no line ends"),
    Broken(
      text: endpoint("type: http, url: \"https://h\", headers: { X-A: ▶\"${env.HOME}\" }"),
      message: "is refused in `headers`"),
    Broken(
      text: endpoint("type: http, url: \"https://h\", headers: { X-A: ▶, X-B: b }"),
      message: "`X-A` has no value"),
    Broken(
      text: endpoint("type: s3, url: \"https://h\", bucket: b, tags: { a: ▶, b: c }"),
      message: "`a` has no value"),
    Broken(
      text: endpoint("type: http, url: \"https://h\", auth: { bearer: { file: ▶~/token } }"),
      message: "which haul does not expand"),
    Broken(
      text: endpoint("type: sftp, url: \"sftp://h\", auth: { ssh: { user: u, key_file: ▶$HOME/key } }"),
      message: "which haul does not expand"),
    Broken(
      text: endpoint("type: http, url: \"https://h\", headers: { ▶Content-Length: 1 }"),
      message: "haul sets `Content-Length` itself"),
    Broken(
      text: endpoint("type: http, url: ▶\"https://${var.none}\""),
      message: "the variable `none` is not declared"),
    Broken(text: endpoint("type: http, url: ▶\"https://${env.NONE}\""), message: "is empty or not set"),
    Broken(
      text:
        "!\nversion: 1\njob: a\nvars: { a: ▶\"${var.b}\", b: \"${var.a}\" }\ntransfers:\n  - { id: a, download: \"http://h/x\", to: x }",
      message: "`a` is made of itself"),
  ]

  static func endpoint(_ body: String) -> String {
    "!\nversion: 1\njob: a\nendpoints:\n  e: { \(body) }\ntransfers:\n  - { id: a, download: \"http://h/x\", to: x }"
      .replacing("{ ▶url", with: "▶{ url")
  }

  @Test(arguments: yaml + top + notices + policies + endpoints)
  func fault(_ broken: Broken) { expectFault(broken) }
}

/// The fault is the first, at the marker, with the message; no job comes out.
func expectFault(_ broken: Broken, sourceLocation: SourceLocation = #_sourceLocation) {
  let result = read(broken.marked)
  let errors = result.diagnostics.filter { $0.severity == .error }
  let place = broken.place
  let found = errors.contains { error in
    error.mark?.line == place.line && error.mark?.column == place.column
      && error.message.contains(broken.message)
  }
  let all = errors.map { "\($0.mark?.text ?? "-") \($0.message)" }
  #expect(found, "wanted \(place): \(all)", sourceLocation: sourceLocation)
  #expect(result.job == nil, sourceLocation: sourceLocation)
}

extension BrokenTopLevelTests {
  @Test(arguments: [
    ("defaults: { id: x }", "it belongs into a transfer"),
    ("policies: { p: { min_free: 1GiB } }", "it belongs into `disk` of a policy"),
    ("policies: { p: { http: { per: day } } }", "it belongs into `budget` of a policy"),
    ("policies: { p: { retry: { min_version: 1.3 } } }", "it belongs into `tls` of a policy or an endpoint"),
    ("  - { id: a, download: depot:x, to: x, needs: [b] }", "name the id of a transfer, or a glob of ids"),
  ])
  func hints(_ text: String, _ hint: String) {
    #expect(read(Broken.frame(text)).diagnostics.map(\.hint) == [hint])
  }

  private static func hosts(_ entry: String) -> String {
    "policies: { p: { network: { hosts: { deny: [▶\"\(entry)\"] } } } }"
  }

  @Test(
    arguments: [
      ("127.0.0.1:8080", "write `127.0.0.1`: a host is meant with all its ports"),
      ("localhost:*", "write `localhost`: a host is meant with all its ports"),
      ("*.example.net:443", "write `*.example.net`: a host is meant with all its ports"),
      ("[::1]:80", "write `[::1]`: a host is meant with all its ports"),
      (".Example.net", "write `*.example.net`"), ("local[h]ost", nil), ("{a,b}", nil), ("127.0.0.0/8", nil),
      ("a..b", nil), ("[]", nil), ("[::1", nil), ("1:2:3", nil), ("::ffff:10.*", nil), ("2001:0db8:*", nil),
    ] as [(String, String?)])
  func `an entry of hosts that no host can match`(_ entry: String, _ hint: String?) {
    let broken = Broken(text: Self.hosts(entry), message: "not a host or a pattern of hosts")
    expectFault(broken)
    if let hint { #expect(read(broken.marked).diagnostics.map(\.hint) == [hint]) }
  }

  @Test func `a host of colons alone is a fault, however long`() {
    let entry = String(repeating: ":", count: 100_000)
    #expect(read(Broken.frame(Self.hosts(entry))).diagnostics.count == 1)
  }

  @Test(arguments: [
    "*", "LOCALHOST", "localhost.", "*local*", "*.example.net", "xn--bcher-kva.de", "a_b", "127.0.0.1",
    "127.0.0.*", "0x7f.1", "::1", "[::1]", "::ffff:1.2.3.4", "2001:db8:*", "[fe80:0:*]", "*::1",
  ])
  func `an entry of hosts`(_ entry: String) {
    #expect(read(Broken.frame(Self.hosts(entry))).diagnostics.filter { $0.severity == .error } == [])
  }

  @Test(arguments: ["\n", "\r\n", "\r"])
  func `a fault is shown with its line, however lines end`(_ end: String) {
    let lines = ["version: 2", "job: a", "transfers:", "  - { id: a, download: ~/x, to: x }", ""]
    let shown = read(lines.joined(separator: end)).diagnostics.map(\.lineText)
    #expect(shown == [lines[0], lines[3]])
  }

  /// What stands on the command line is no fault of the manifest's.
  @Test func undeclaredVariable() {
    let result = read(Broken.frame("description: d"), overrides: ["nosuch": "1"])
    #expect(result.job == nil && result.diagnostics.map(\.cause) == [.commandLine])
  }

  @Test(arguments: [
    ("literal: LIT", "write `bearer: { env: NAME }`"), ("LIT: 1", "write"), ("fle: LIT", "`file`"),
  ])
  func secretUnderAnotherKey(_ text: String, _ hint: String) {
    let result = read(
      Broken.frame("x-a: 1").replacing(
        "{ type: http,", with: "{ type: http, auth: { bearer: { \(text) } },"))
    #expect(result.diagnostics.count == 1 && result.diagnostics[0].hint?.contains(hint) == true)
    #expect(!"\(result.diagnostics)".contains("LIT"), "\(result.diagnostics)")
  }

  /// A literal secret is hidden also where its key stands on another line.
  @Test func secretOnALineOfItsOwn() {
    let result = read(
      Broken.frame(
        "endpoints:\n  web:\n    type: http\n    url: https://h\n    auth:\n      bearer:\n        LIT"
      ).replacing(
        Broken.head, with: "version: 1\njob: test\n"))
    #expect(result.diagnostics.contains { $0.lineText == "        ***" }, "\(result.diagnostics)")
    #expect(!result.diagnostics.contains { $0.lineText?.contains("LIT") == true })
  }
}
