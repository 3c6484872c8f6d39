import JobLedger
import JobModel
import Testing

@testable import Reporting

@Suite struct PlanTests {
  private static let lines = [
    PlanLine(
      id: "a", direction: .download, source: .url("https://h/a?sig=SECRET"), destination: .local("a"),
      protocolName: "http", size: 1000, chunkSize: 400, chunks: 3, action: .transfer, isResumable: true,
      isParallel: true, verifiedBy: ["sha256"]),
    PlanLine(
      id: "b", direction: .upload, source: .local("b"), destination: .remote(endpoint: "k", path: "b"),
      protocolName: "kii", action: .unknown, isResumable: false, isParallel: false),
    PlanLine(
      id: "c", direction: .download, source: .local("x"), destination: .local("c"), protocolName: "http",
      size: 24, action: .upToDate, reason: "adopted"),
  ]

  @Test func `a plan keeps to its schema and sums up`() throws {
    let out = Collector()
    let plan = PlanJSON(out.take)
    var head = ReportHead(toolVersion: "1", jobName: "nightly")
    head.diagnostics = [RecordedDiagnostic(Diagnostic(.warning, "w"))]
    try plan.begin(head)
    for line in Self.lines { try plan.add(line) }
    try plan.finish()
    #expect(try Schemas.faults("plan", [out.bytes]) == "")
    let json = try Document(out.bytes)
    #expect(json["totals", "bytes"].int == 1024 && json["totals", "bytes_to_move"].int == 1000)
    #expect(json["totals", "unknown_sizes"].int == 1 && json["totals", "chunks"].int == 3)
    #expect(json["totals", "actions", "up_to_date"].int == 1 && json["totals", "actions", "skip"].int == 0)
    #expect(
      json["transfers", 1, "size"].isNull && json["transfers", 1, "capabilities", "parallel"].bool == false)
    #expect(json["transfers", 2, "capabilities", "resumable"].isNull)
    #expect(!out.text.contains("SECRET"))
  }

  @Test func `a plan in words`() throws {
    var text = ""
    let plan = PlanText(isColoured: false, showsAll: true) { text += $0 }
    for line in Self.lines { try plan.add(line) }
    try plan.finish()
    #expect(
      text == """
        transfer    a  1000 B, 3 chunks  download, http
                    https://h/a?*** -> a
        unknown     b  size unknown  upload, kii
                    b -> k:b
                    can't be resumed: an interruption starts it anew; one request at a time
        up to date  c (adopted)  24 B  download, http
                    x -> c
        3 transfers: 1 to run, 1 up to date, 1 unknown
        1000 B to move of 1.0 KiB, 3 chunks, 1 unknown size

        """)
  }

  /// Each transfer's policy by name, and once what it says.
  @Test func `a plan tells its policies`() throws {
    var office = EffectivePolicy()
    office.transfers = 2
    office.downloadRate = .bytesPerSecond(2_000_000)
    office.retryAttempts = 3
    office.deniedAddresses = ["private", "loopback"]
    var refined = office
    refined.insecure = true
    var lines = Self.lines + [Self.lines[0], Self.lines[0]]
    for (index, policy) in [office, EffectivePolicy(), refined, office, refined].enumerated() {
      lines[index].policy = policy
      lines[index].policyName = index == 1 ? nil : index == 4 ? nil : "office"
    }
    var text = ""
    let plan = PlanText(isColoured: false, showsAll: true) { text += $0 }
    for line in lines { try plan.add(line) }
    try plan.finish()
    #expect(text.contains("transfer    a  1000 B, 3 chunks  download, http, policy `office`\n"), "\(text)")
    #expect(text.contains("upload, kii\n") && text.contains("download, http, policy `office` (2)\n"))
    #expect(text.contains("download, http, a policy of its own\n"))
    #expect(
      text.contains(
        "policy `office`: transfers 2, download 1.9 MiB/s, retry.attempts 3, network.addresses.deny private loopback\n"
      ),
      "\(text)")
    #expect(text.contains("tls.insecure true\n"))
    let out = Collector()
    let json = PlanJSON(out.take)
    try json.begin(ReportHead(toolVersion: "1", jobName: "nightly"))
    for line in lines { try json.add(line) }
    try json.finish()
    #expect(try Schemas.faults("plan", [out.bytes]) == "")
    #expect(try Document(out.bytes)["policies", "p1", "retry", "attempts"].int == 3)
    #expect(try Document(out.bytes)["transfers", 0, "policy", "effective", "retry", "attempts"].int == 3)
    #expect(try Document(out.bytes)["transfers", 3, "policy", "effective", "retry", "attempts"].int == nil)
  }

  @Test func `a long plan is cut`() throws {
    var text = ""
    let plan = PlanText(isColoured: false) { text += $0 }
    // What is up to date is counted, and takes no line.
    for line in 0..<410 { try plan.add(Self.lines[line % 2 * 2]) }
    try plan.finish(gone: (5, ["x", "y"]))
    #expect(!text.contains("up to date  c"))
    #expect(
      text.contains(
        "\n… and 5 more; `--all` lists them\ngone from the manifest: 5 (x, y, …)\n410 transfers: 205 to run, 205 up to date\n"
      ))
  }

  @Test func `check keeps to its schema`() throws {
    var head = ReportHead(toolVersion: "1", jobName: nil)
    head.diagnostics = [
      RecordedDiagnostic(
        Diagnostic(
          .error, "unknown key `sorce`", at: SourceMark(file: "j", line: 1, column: 2),
          hint: "did you mean `source`?"))
    ]
    let out = Collector()
    try CheckJSON.write(head, isOK: false, to: out.take)
    #expect(try Schemas.faults("check", [out.bytes]) == "")
    let json = try Document(out.bytes)
    #expect(json["ok"].bool == false && json["diagnostics", 0, "hint"].text == "did you mean `source`?")
  }
}
