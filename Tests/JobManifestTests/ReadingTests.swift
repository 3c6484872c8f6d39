import Endpoints
import Foundation
import JobManifest
import JobModel
import Testing

/// Good manifests: what they mean once all levels are merged.
@Suite struct ReadingTests {
  static func job(_ text: String, overrides: [String: String] = [:]) throws -> Job {
    let result = read(Broken.frame(text), overrides: overrides)
    try #require(result.diagnostics.filter { $0.severity == .error }.map(\.message) == [])
    return try #require(result.job)
  }

  @Test func `the whole example has no fault`() throws {
    let url = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("jobs/example.yaml")
    let text = try String(contentsOf: url, encoding: .utf8)
    let result = read(text)
    #expect(result.diagnostics.filter { $0.severity == .error } == [])
    let job = try #require(result.job)
    #expect(job.templates.map(\.id) == ["deck", "masters", "legacy"])
    let policy = try #require(job.templates[0].settings["depot"]).policy
    #expect(policy.downloadRate == .bytesPerSecond(20_000_000))
    #expect(policy.window == [TimeWindow(from: 1200, to: 360)])
    #expect(policy.caFile == "/srv/job/ca.pem")
    #expect(policy.budget == Budget(bytes: 500 << 30, period: .month))
    #expect(result.diagnostics == [])
  }

  @Test func `limits cap the whole job`() throws {
    var all = JobLimits()
    (all.transfers, all.connectionsTotal, all.connectionsPerHost) = (3, 16, .auto)
    (all.downloadRate, all.budget) = (.bytesPerSecond(2_000_000), Budget(bytes: 5 << 30, period: .week))
    let text = """
      limits:
        transfers: 3
        connections: { total: 16, per_host: auto }
        bandwidth: { download: 2MB/s }
        budget: { bytes: 5GiB, per: week }
      """
    #expect(try Self.job(text).limits == all)
    var few = JobLimits()
    (few.connectionsTotal, few.downloadRate, few.uploadRate) = (
      4, .bytesPerSecond(1000), .bytesPerSecond(1000)
    )
    #expect(try Self.job("limits: { connections: 4, bandwidth: 1KB/s }").limits == few)
    #expect(try Self.job("description: none").limits == JobLimits())
  }

  @Test func `a transfer's level wins over the endpoint's, that over the defaults'`() throws {
    let job = try Self.job(
      """
      !
      version: 1
      job: levels
      policies:
        base: { transfers: 1, chunks_in_flight: 1, retry: { attempts: 2, max: 9s }, http: { headers: { X-P: base } } }
        far: { transfers: 2, chunks_in_flight: 2, tls: { min_version: 1.2, ca_file: far.pem } }
      endpoints:
        e: { type: http, url: "https://h/", policy: far, tls: { min_version: 1.3 }, headers: { X-A: e, X-B: e } }
      defaults: { policy: base, chunk_size: auto, headers: { X-A: d, x-c: d }, expect: { size: 1 }, refresh: never }
      transfers:
        - id: a
          download: e:x
          to: a
          policy: { transfers: 3 }
          headers: { x-b: t }
          expect: { md5: d41d8cd98f00b204e9800998ecf8427e }
        - { id: b, download: "https://h/x", to: b, policy: far, chunk_size: 1MiB }
      """)
    let a = try #require(job.templates[0].settings["e"])
    #expect(a.policy.transfers == 3)
    #expect(a.policy.chunksInFlight == 2)
    #expect(a.policy.retryAttempts == 2)
    #expect(a.policy.retryMax == 9)
    #expect(a.policy.retryInitial == 0.5)
    #expect(a.policy.tlsMinVersion == .v1_3)
    #expect(a.policy.caFile?.hasSuffix("/far.pem") == true)
    #expect(a.policyName == "far")
    #expect(a.policy.headers == [HeaderSetting(name: "X-P", value: .text("base"))])
    #expect(a.chunkSize == .auto)
    #expect(a.refresh == .never)
    #expect(a.headers.map(\.name) == ["x-c", "X-A", "x-b"])
    #expect(a.headers.map(\.value) == [.text("d"), .text("e"), .text("t")])
    #expect(Set(job.templates[0].expect.keys) == [.size, .digest(.md5)])
    let b = try #require(job.templates[1].settings[""])
    #expect(b.policy.transfers == 2)
    #expect(b.policy.tlsMinVersion == .v1_2)
    #expect(b.chunkSize == .bytes(1 << 20))
    #expect(job.endpoints["e"]?.url == "https://h")
  }

  @Test func `a level that refines a named policy's budget or its time zone has one of its own`() throws {
    let job = try Self.job(
      """
      !
      version: 1
      job: budgets
      policies:
        p: { budget: { bytes: 9MiB, per: day } }
        q: { transfers: 1 }
      defaults: { policy: p }
      transfers:
        - { id: a, download: "https://h/a", to: a }
        - { id: b, download: "https://h/b", to: b, policy: { transfers: 3 } }
        - { id: c, download: "https://h/c", to: c, policy: { budget: { bytes: 8MiB, per: day } } }
        - { id: d, download: "https://h/d", to: d, policy: { timezone: Europe/Berlin } }
        - { id: e, download: "https://h/e", to: e, policy: q }
      """)
    #expect(
      job.templates.map { $0.settings[""]?.hasOwnBudget } == [false, false, true, true, false])
  }

  @Test func `a named policy that leaves its budget to the endpoint has another one at each`() throws {
    let job = try Self.job(
      """
      !
      version: 1
      job: budgets
      policies:
        p: { transfers: 4 }
        q: { budget: { bytes: 9MiB, per: day } }
        r: { budget: { bytes: 9MiB, per: day }, timezone: UTC }
      endpoints:
        a: { type: http, url: "https://a", policy: { budget: { bytes: 5MiB, per: day } } }
        b: { type: http, url: "https://b", policy: { timezone: Europe/Berlin } }
        c: { type: http, url: "https://c", policy: q }
      transfers:
        - { id: a, download: "a:x", to: a, policy: p }
        - { id: b, download: "b:x", to: b, policy: p }
        - { id: c, download: "c:x", to: c, policy: p }
        - { id: d, download: "a:x", to: d, policy: q }
        - { id: e, download: "b:x", to: e, policy: q }
        - { id: f, download: "b:x", to: f, policy: r }
        - { id: g, download: "c:x", to: g }
      """)
    #expect(
      job.templates.map { $0.settings.values.first?.hasOwnBudget }
        == [true, false, true, false, true, false, false])
  }

  @Test func `text keys take scalars as written`() throws {
    let job = try Self.job(
      "  - { id: 007, download: depot:no, to: 1e3, expect: { sha256: \(String(repeating: "1", count: 64)), crc32c: 00000000 } }\n"
        + "  - { id: b, download: depot:0x10, to: yes, mode: 0644, x-note: [any], needs: [007] }")
    #expect(job.templates[0].id == "007")
    #expect(job.templates[0].source.text.text.literal == "no")
    #expect(job.templates[0].destination.text.text.literal == "1e3")
    #expect(job.templates[1].settings["depot"]?.mode == 0o644)
    #expect(job.templates[1].settings["depot"]?.needs == ["007"])
  }

  @Test func `every way to authenticate`() throws {
    let job = try Self.job(
      """
      !
      version: 1
      job: auth
      endpoints:
        none: { type: http, url: "https://h", auth: none }
        bearer: { type: http, url: "https://h", auth: { bearer: { file: token } } }
        basic: { type: http, url: "https://h", auth: { basic: { user: u, password: { command: [pass, show, x] } } } }
        header: { type: http, url: "https://h", auth: { header: { name: X-Key, value: { env: K } } } }
        netrc: { type: http, url: "https://h", auth: { netrc: true } }
        profile: { type: s3, url: "https://h", bucket: b, auth: { aws: { profile: p } } }
        keys: { type: s3, url: "https://h", bucket: b, auth: { aws: { access_key_id: AK, secret_access_key: { env: S } } } }
        ref: { type: s3, url: "https://h", bucket: b, auth: { aws: { access_key_id: { env: I }, secret_access_key: { env: S } } } }
        env: { type: s3, url: "https://h", bucket: b, auth: { aws: { env: true } } }
        oauth: { type: salesforce, url: "https://h", auth: { oauth2: { grant: jwt_bearer, token_url: "https://h/t",
          jwt: { issuer: i, subject: s, audience: a, key: { file: /k.pem } } } } }
        kii: { type: kii, url: "https://h/api", app_id: a, app_key: { env: K }, bucket: b, scope: "user:7" }
      transfers:
        - { id: a, download: none:x, to: x }
      """)
    #expect(job.endpoints["bearer"]?.authentication == .bearer(.file("/srv/job/token")))
    #expect(
      job.endpoints["basic"]?.authentication == .basic(user: "u", password: .command(["pass", "show", "x"])))
    #expect(job.endpoints["header"]?.authentication == .header(name: "X-Key", value: .environment("K")))
    #expect(job.endpoints["netrc"]?.authentication == .netrc)
    #expect(job.endpoints["profile"]?.authentication == .aws(.profile("p")))
    #expect(job.endpoints["env"]?.authentication == .aws(.environment))
    #expect(
      job.endpoints["keys"]?.authentication
        == .aws(.keys(accessKeyID: .text("AK"), secretAccessKey: .environment("S"), sessionToken: nil)))
    #expect(
      job.endpoints["ref"]?.authentication
        == .aws(
          .keys(
            accessKeyID: .secret(.environment("I")), secretAccessKey: .environment("S"), sessionToken: nil)))
    let jwt = OAuth2.JWT(issuer: "i", subject: "s", audience: "a", key: .file("/k.pem"))
    #expect(
      job.endpoints["oauth"]?.authentication
        == .oauth2(OAuth2(grant: .jwtBearer, tokenURL: "https://h/t", jwt: jwt)))
    let kii = try #require(job.endpoints["kii"]?.driver as? KiiDriver)
    #expect(kii.settings.scope == .user("7"))
  }

  @Test func `overrides, defaults, escapes and merges`() throws {
    let text = """
      !
      version: 1
      job: vars
      vars: { bucket: media, path: "${var.bucket}/x", home: "${env.HOME}" }
      x-base: &base { download: "http://h/x", verify: size }
      transfers:
        - { <<: *base, id: a, to: "${var.path}/${env.NOPE|default(none)}/$${var.x}" }
        - { <<: *base, id: b, to: "b", verify: available }
      """
    #expect(try Self.job(text).templates[0].destination.text.text.literal == "media/x/none/${var.x}")
    let job = try Self.job(text, overrides: ["bucket": "other"])
    #expect(job.templates[0].destination.text.text.literal == "other/x/none/${var.x}")
    #expect(job.templates.map { $0.settings[""]?.verify } == [.size, .available])
    let unknown = read(Broken.frame(text), overrides: ["buckett": "x"])
    #expect(unknown.job == nil)
    #expect(unknown.diagnostics.first?.hint == "did you mean `bucket`?")
  }

  @Test func `filters behind a default`() throws {
    let text = """
      !
      version: 1
      job: vars
      transfers:
        - { id: a, download: "http://h/x", to: "${var.none|default(a b)|url}" }
      """
    #expect(try Self.job(text).templates[0].destination.text.text.literal == "a%20b")
  }

  @Test func `many faults come at once, sorted, each once`() {
    let result = read(
      """
      version: 1
      job: Many
      endpoints:
        e: { type: http, url: "https://h", auth: { bearer: literal } }
      defaults: { chunk_size: 8mb, refresh: sometimes }
      transfers:
        - { id: a, download: e:x, to: ../x, chunksize: 1, expect: { sha256: zz, type: text/plain } }
        - { id: a, download: nope:x, to: x, needs: [zebra] }
        - { id: b, upload: x, to: y, enabled: yes }
      """)
    let errors = result.diagnostics.filter { $0.severity == .error }
    #expect(errors.count == 13)
    #expect(errors.allSatisfy { $0.lineText?.isEmpty == false })
    #expect(errors.first { $0.message.contains("chunksize") }?.hint == "did you mean `chunk_size`?")
  }

  /// Each of them needs the one before: no two of them are compared for that.
  @Test(.timeLimit(.minutes(10))) func `a long chain of needs`() throws {
    let count = 5_000
    let entries = (0..<count).map { index in
      "  - { id: t\(index), download: \"https://h/\(index)\", to: \"\(index)\""
        + (index > 0 ? ", needs: [t\(index - 1)] }" : " }")
    }
    let job = try Self.job(entries.joined(separator: "\n") + "\n")
    #expect(job.templates.count == count)
    #expect(job.templates.last?.settings.values.first?.needs == ["t\(count - 2)"])
  }

  @Test(arguments: ["https://h/files", "https://h/files/", "https://h/"])
  func `tus uploads are created at the URL as it is written`(_ written: String) throws {
    let job = try Self.job(
      """
      !
      version: 1
      job: tus
      endpoints: { t: { type: tus, url: "\(written)" } }
      transfers: [{ id: a, upload: x, to: "t:x" }]
      """)
    let endpoint = try #require(job.endpoints["t"])
    #expect(!endpoint.url.hasSuffix("/"))
    let upload = try endpoint.driver.upload("x", at: try #require(WebURL(endpoint.url)))
    #expect(upload.url.text == written)
  }

  @Test func `too many aliases, and an expansion too large`() {
    let many = "x-a: &a 1\nx-b: [" + Array(repeating: "*a", count: 101).joined(separator: ", ") + "]\n"
    #expect(read(Broken.frame(many)).diagnostics.contains { $0.message == "more than 100 aliases" })
    let ten = { (name: String) in Array(repeating: "*\(name)", count: 9).joined(separator: ", ") }
    let bomb =
      "x-a: &a [\(String(repeating: "aaaaaaaaaa", count: 10))]\nx-b: &b [\(ten("a"))]\nx-c: &c [\(ten("b"))]\n"
      + "x-d: &d [\(ten("c"))]\nx-e: &e [\(ten("d"))]\nx-f: &f [\(ten("e"))]\nx-g: &g [\(ten("f"))]\n"
      + "x-h: &h [\(ten("g"))]\n"
    #expect(
      read(Broken.frame(bomb)).diagnostics.contains {
        $0.message.hasPrefix("aliases expand to more than 64 MiB")
      })
  }
}
