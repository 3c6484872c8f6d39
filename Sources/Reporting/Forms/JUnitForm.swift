import JobModel

/// `junit`: the job is a suite, a transfer a case, for CI servers.
struct JUnitForm: FormWriter {
  func write(_ report: any Report, to sink: @escaping ByteSink) throws {
    // The suite begins with its counts, which are known at its end.
    let buffer = try TempBuffer()
    let cases = BlockSink(buffer.add)
    var tally = Tally()
    let members = JSON.object(try report.members())
    let suite = Self.suite(members)
    _ = try report.transfers(.selected) { try cases.add(Self.testCase($0, suite, &tally)) }
    if tally.tests == 0 { try cases.add(Self.emptyRun(members, suite, &tally)) }
    try cases.flush()
    let out = BlockSink(sink)
    try out.add(Self.opening(members, suite, tally))
    try out.flush()
    try buffer.read(sink)
    try out.add(Self.closing(members))
    try out.flush()
  }

  private struct Tally {
    var tests = 0
    var failures = 0
    var errors = 0
    var skipped = 0
  }

  private static func suite(_ report: JSON) -> String {
    report["job"]["name"].string ?? report["job"]["manifest"].string ?? "job"
  }

  private static func opening(_ report: JSON, _ suite: String, _ tally: Tally) -> String {
    let run = report["run"]
    let counts =
      attribute("tests", String(tally.tests)) + attribute("failures", String(tally.failures))
      + attribute("errors", String(tally.errors)) + attribute("skipped", String(tally.skipped))
      + attribute("time", seconds(run["duration_s"]))
    // UTC, and without a zone or a fraction, which strict readers do not take.
    let start = run["started_at"].string.map { attribute("timestamp", String($0.prefix(19))) } ?? ""
    let host = attribute("hostname", run["host"].string ?? "localhost")
    let properties = [
      ("haul.version", report["tool"]["version"]), ("manifest", report["job"]["manifest"]),
      ("manifest_sha256", report["job"]["manifest_sha256"]), ("run.id", run["id"]),
      ("run.number", run["number"]), ("run.attempt", run["attempt"]), ("run.outcome", run["outcome"]),
      ("run.exit_code", run["exit_code"]), ("bytes.transferred", report["totals"]["bytes"]["transferred"]),
      ("retries", report["totals"]["retries"]),
    ].filter { $0.1 != .null }.map { name, value in
      "      <property" + attribute("name", name) + attribute("value", value.string ?? value.text) + "/>\n"
    }
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <testsuites\(attribute("name", "haul"))\(counts)>
        <testsuite\(attribute("name", suite))\(counts)\(start)\(host)>
          <properties>
      \(properties.joined())    </properties>

      """
  }

  private static func testCase(_ transfer: JSON, _ suite: String, _ tally: inout Tally) -> String {
    tally.tests += 1
    let state = transfer["state"].string ?? ""
    let isDone = ["completed", "up_to_date"].contains(state)
    let opening =
      "    <testcase" + attribute("classname", suite) + attribute("name", transfer["id"].string ?? "")
      + attribute("time", seconds(transfer["duration_s"]))
    if isDone { return opening + "/>\n" }
    let error = transfer["error"]
    if state != "skipped", let code = error["code"].string {
      tally.failures += 1
      return opening + ">\n" + failure("failure", code, error["message"].string ?? "", error["hint"].string)
    }
    if state == "failed" {
      tally.failures += 1
      return opening + ">\n" + failure("failure", "failed", "failed", nil)
    }
    tally.skipped += 1
    let reason = [state, transfer["reason"].string].compactMap(\.self).joined(separator: ": ")
    return opening + ">\n      <skipped" + attribute("message", reason) + "/>\n    </testcase>\n"
  }

  /// A run that came to no transfer is one case of its own: a suite without cases is a success to CI servers.
  private static func emptyRun(_ report: JSON, _ suite: String, _ tally: inout Tally) -> String {
    guard let outcome = report["run"]["outcome"].string, report["run"]["exit_code"] != .integer(0) else {
      return ""
    }
    (tally.tests, tally.errors) = (1, 1)
    let fault = report["diagnostics"].array?.first { $0["severity"].string == "error" }
    return "    <testcase" + attribute("classname", suite) + attribute("name", "run") + attribute("time", "0")
      + ">\n" + failure("error", outcome, fault?["message"].string ?? outcome, fault?["hint"].string)
  }

  private static func failure(_ element: String, _ type: String, _ message: String, _ hint: String?) -> String
  {
    let hint = hint.map { "\nhint: " + $0 } ?? ""
    return "      <\(element)" + attribute("type", type) + attribute("message", message) + ">"
      + Markup.text("\(type): \(message)\(hint)", keepingNewlines: true) + "</\(element)>\n    </testcase>\n"
  }

  private static func closing(_ report: JSON) -> String {
    let lines = (report["diagnostics"].array ?? []).map { diagnostic in
      let place = diagnostic["place"].string.map { $0 + ": " } ?? ""
      let hint = diagnostic["hint"].string.map { "\n  hint: " + $0 } ?? ""
      let text = place + (diagnostic["severity"].string ?? "") + ": " + (diagnostic["message"].string ?? "")
      return Markup.text(text + hint, keepingNewlines: true) + "\n"
    }
    let told = lines.isEmpty ? "" : "    <system-err>" + lines.joined() + "</system-err>\n"
    return told + "  </testsuite>\n</testsuites>\n"
  }

  private static func attribute(_ name: String, _ value: String) -> String {
    " \(name)=\"" + Markup.text(value) + "\""
  }

  private static func seconds(_ value: JSON) -> String { value.double == nil ? "0" : value.text }
}
