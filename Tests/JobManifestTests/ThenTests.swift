import Endpoints
import JobManifest
import JobModel
import Testing

/// `then`: what it takes, and each of its faults at its place.
@Suite struct ThenTests {
  private static func then(_ text: String) -> String {
    "  - { id: a, download: depot:x, to: x, then: \(text) }"
  }

  static let broken: [Broken] = [
    Broken(text: then("▶[]"), message: "a mapping is wanted"),
    Broken(text: then("▶{ json: {} }"), message: "needs `post`, `put` or `patch`"),
    Broken(text: then("{ post: web:r, ▶put: web:r }"), message: "makes one request"),
    Broken(text: then("{ post: web:r, ▶jsn: {} }"), message: "no key `jsn`"),
    Broken(text: then("{ post: ▶records/7 }"), message: "this is a local path"),
    Broken(text: then("{ post: ▶wbe:r }"), message: "the endpoint `wbe` is not declared"),
    Broken(text: then("{ post: ▶\"https://u@h/x\" }"), message: "URL"),
    Broken(text: then("{ post: ▶\"\" }"), message: "`post`"),
    Broken(
      text: then("{ post: ▶\"https://${file.remote_id}/x\" }"), message: "can't say where the request goes"),
    Broken(text: then("{ post: ▶\"${id}:x\" }"), message: "can't say where the request goes"),
    Broken(
      text: then("{ post: web:r, json: { a: ▶\"${file.sha265}\" } }"), message: "`${file.sha265}` is unknown"),
    Broken(
      text: then("{ post: web:r, json: { a: ▶\"${run.outcome}\" } }"), message: "can't be used in `json`"),
    Broken(text: then("{ post: web:r, json: { a: ▶\"${each.x}\" } }"), message: "without `for_each`"),
    Broken(
      text: then("{ post: web:r, json: { a: ▶\"${source.name}\" } }"), message: "can't be used in `json`"),
    Broken(text: then("{ post: web:r, json: { a: ▶\"${var.nosuch}\" } }"), message: "is not declared"),
    Broken(
      text: then("{ post: web:r, headers: { X: ▶\"${env.HOME}\" } }"), message: "is refused in `headers`"),
    Broken(text: then("{ post: web:r, headers: { X: ▶\"a\\r\\nb\" } }"), message: "no line ends"),
    Broken(
      text: then("{ post: web:r, headers: { Authorization: ▶x } }"), message: "a secret is never written"),
    Broken(text: then("{ post: web:r, headers: { ▶idempotency-key: x } }"), message: "haul sets"),
    Broken(text: then("{ post: web:r, headers: { ▶Content-Length: 3 } }"), message: "haul sets"),
    Broken(text: then("{ post: web:r, expect_status: [200, ▶99] }"), message: "not the status of an answer"),
    Broken(text: then("{ post: web:r, expect_status: ▶ok }"), message: "not the status of an answer"),
    Broken(
      text: then(
        "{ post: web:r, json: " + String(repeating: "[", count: 16) + "▶[1]"
          + String(repeating: "]", count: 16) + " }"),
      message: "nested deeper than 16"),
    Broken(text: "  - { id: a, download: depot:x, to: ▶\"${file.size}\" }", message: "can't be used in `to`"),
    Broken(text: "  - { id: a, download: depot:x, to: ▶\"${id}\" }", message: "can't be used in `to`"),
    Broken(text: "defaults: { then: { post: ▶wbe:r } }", message: "the endpoint `wbe` is not declared"),
    Broken(text: "▶then: { post: web:r }", message: "`then` does not belong into a job"),
  ]

  @Test(arguments: broken)
  func fault(_ broken: Broken) { expectFault(broken) }

  @Test(arguments: [
    (then("{ post: web:r, json: { a: \"${file.sha265}\" } }"), "did you mean `${file.sha256}`?"),
    (then("{ post: wbe:r }"), "did you mean `web:`?"),
    (then("{ pst: web:r, post: web:r }"), "did you mean `post`?"),
  ])
  func hints(_ text: String, _ hint: String) {
    #expect(read(Broken.frame(text)).diagnostics.contains { $0.hint == hint })
  }

  private func settings(_ text: String) throws -> TransferSettings {
    let result = read(Broken.frame(text))
    #expect(result.diagnostics.isEmpty, "\(result.diagnostics)")
    return try #require(result.job?.templates.first?.settings.values.first)
  }

  @Test func reading() throws {
    let then = try #require(
      try settings(
        Self.then(
          "{ patch: \"web:records/${id}\", json: { v: \"${var.set}\", n: 7, on: true, no: null, l: [a, 1.5] }, headers: { X-Key: { env: KEY } }, expect_status: [200, 409], x-mine: 1 }"
        )
      ).then)
    #expect(then.method == .patch && then.endpoint == "web" && then.target.written == "records/${id}")
    #expect(then.statuses == [200, 409] && then.policy == nil)
    #expect(then.headers == [.init(name: "X-Key", value: .secret(.environment("KEY")))])
    let body = then.body?.filled { $0.written }.text
    #expect(body == #"{"v":"1","n":7,"on":true,"no":null,"l":["a",1.5]}"#)
  }

  @Test(arguments: ["expect_status: 201", "expect_status: [\"201\"]"])
  func oneStatus(_ text: String) throws {
    #expect(try settings(Self.then("{ post: web:r, \(text) }")).then?.statuses == [201])
  }

  /// A transfer's own takes the place of the defaults' as a whole.
  @Test func defaults() throws {
    let head = "defaults: { then: { post: web:all, json: { a: 1 } } }\ntransfers:\n"
    let own = head + "  - { id: a, download: depot:x, to: x, then: { put: web:one } }"
    let inherited = head + "  - { id: a, download: depot:x, to: x }"
    func read(_ text: String) throws -> AttachTemplate? {
      let result = JobManifestTests.read(Broken.head + text)
      #expect(result.diagnostics.isEmpty, "\(result.diagnostics)")
      return result.job?.templates.first?.settings.values.first?.then
    }
    #expect(try read(own)?.method == .put && read(own)?.body == nil)
    #expect(try read(inherited)?.target.written == "all")
  }

  /// The receiver's own policy and certificates hold for the request.
  @Test func policies() throws {
    let text = """
      version: 1
      job: test
      endpoints:
        depot: { type: session, url: "https://files.example.net/api", policy: { timeouts: { connect: 3s } } }
        api: { type: http, url: "https://api.example.net", tls: { ca_file: api.pem } }
      policies: { p: { transfers: 3 } }
      transfers:
        - { id: a, download: depot:x, to: x, policy: p, then: { post: api:r } }
        - { id: b, download: depot:x, to: y, policy: p, then: { post: depot:r } }
      """
    let result = read(text)
    let templates = try #require(result.job?.templates, "\(result.diagnostics)")
    let policy = try #require(templates[0].settings.values.first?.then?.policy)
    #expect(policy.caFile == "/srv/job/api.pem" && policy.connectTimeout == 10)
    #expect(policy.transfers == .number(3))
    #expect(templates[1].settings.values.first?.then?.policy == nil, "it is the transfer's")
  }
}
