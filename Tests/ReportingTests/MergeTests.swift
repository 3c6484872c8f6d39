import Foundation
import JobModel
import Testing

@testable import Reporting

struct MergeTests {
  func merged(_ reports: [JSON], partial: Bool = false, pretty: Bool = false) throws -> JSON {
    let samples = try ShardSamples()
    let paths = try reports.map { try samples.write(pretty ? $0.pretty : $0.text) }
    return try Self.written(MergedReport(paths, isPartial: partial, toolVersion: "1.2.3"))
  }

  private static func written(_ report: MergedReport) throws -> JSON {
    var bytes: [UInt8] = []
    try report.writeJSON { bytes += $0 }
    return try #require(JSON(bytes))
  }

  func fault(_ reports: [JSON], partial: Bool = false) throws -> MergeFault {
    let samples = try ShardSamples()
    let paths = try reports.map { try samples.write($0.text) }
    let fault = #expect(throws: MergeFault.self) {
      try MergedReport(paths, isPartial: partial, toolVersion: "1")
    }
    return try #require(fault)
  }

  private static let two = [
    ShardSamples.report(2, of: 2, [ShardSamples.transfer(1, "a"), ShardSamples.transfer(4, "d")]),
    ShardSamples.report(1, of: 2, [ShardSamples.transfer(2, "b"), ShardSamples.transfer(3, "c")]),
  ]

  /// Whatever the order of the files and however they are laid out.
  @Test(arguments: [false, true]) func transfersStandInThePlansOrder(_ isPretty: Bool) throws {
    for reports in [Self.two, Self.two.reversed()] {
      let report = try merged(reports, pretty: isPretty)
      #expect(report["transfers"].array?.map { $0["id"].string } == ["a", "b", "c", "d"])
      #expect(report["transfers"].array?.allSatisfy { $0["ordinal"] == .null } == true)
      #expect(
        report["totals"]["transfers"] == .integer(4) && report["totals"]["bytes"]["discarded"] == .integer(2))
      let run = report["run"]
      #expect(run["id"] == "01RUN1" && run["attempt"] == .integer(2) && run["shard"] == .null)
      #expect(
        run["started_at"] == "2026-01-01T00:00:01.000Z" && run["ended_at"] == "2026-01-01T00:01:02.000Z")
      #expect(run["outcome"] == "completed" && run["exit_code"] == .integer(0) && run["host"] == .null)
      #expect(run["attempts"].array?.map { $0["shard"].int64 } == [1, 2])
      #expect(run["shards"] == ["count": .integer(2), "merged": .integer(2), "missing": .array([])])
      #expect(report["diagnostics"].array?.count == 1 && report["tool"]["version"] == "1.2.3")
      #expect(report["left_manifest"] == ["count": .integer(2), "ids": .array(["gone-1", "gone-2"])])
    }
  }

  /// What several parts say stands once, where the first of them has it.
  @Test func diagnosticsStandInTheOrderOfTheParts() throws {
    func told(_ words: String) -> JSON {
      .array(
        words.map { ["severity": "warning", "message": .string(String($0)), "place": .null, "hint": .null] })
    }
    let reports = [(3, "cxb"), (1, "abb"), (2, "bca")].map { index, words in
      ShardSamples.report(index, of: 3, [], changed: [.init("diagnostics", told(words))])
    }
    for reports in [reports, reports.reversed()] {
      #expect(
        try merged(reports)["diagnostics"].array?.compactMap { $0["message"].string } == ["a", "b", "c", "x"])
    }
  }

  /// No part can know alone that what was asked for is nobody's.
  @Test(
    arguments: [
      ("only", 0, 0, true), ("only_from", 0, 0, true), ("only", 0, 1, false), ("failed", 0, 0, false),
    ]
      as [(String, Int, Int, Bool)])
  func whatNoPartHasIsTold(_ kind: String, _ first: Int, _ second: Int, _ isTold: Bool) throws {
    let reports = [first, second].enumerated().map { index, count in
      let selection: JSON = [
        "kind": .string(kind), "only": kind == "only" ? "mastres/**" : .null,
        "totals": ["transfers": .int(count), "completed": .int(count)],
      ]
      return ShardSamples.report(index + 1, of: 2, [], changed: [.init("selection", selection)])
    }
    func tells(_ report: JSON) -> Bool {
      report["diagnostics"].array?.contains {
        $0["message"].string?.contains("matches no transfer of any shard") == true
      } == true
    }
    let report = try merged(reports)
    #expect(tells(report) == isTold)
    let isRefused = isTold && kind == "only"
    #expect(report["run"]["exit_code"] == .int(isRefused ? 66 : 0))
    #expect(report["run"]["outcome"] == (isRefused ? "failed" : "completed"))
    #expect(report["diagnostics"].array?.first?["severity"] == (isRefused ? "error" : "warning"))
    #expect(try !tells(merged(Array(reports.prefix(1)), partial: true)), "another part may have it")
  }

  /// One machine's reports have one name for one policy, in the order in which transfers refer to them.
  @Test func policiesStandOnce() throws {
    func policy(_ transfers: Int, _ found: Int) -> JSON {
      [
        "transfers": .int(transfers),
        "connections": ["per_host": "auto", "found": ["http://h": .int(found)]],
        "retry": .int(8), "undivided": ["transfers": .int(16)],
        "job_limits": ["transfers": .int(1), "undivided": ["transfers": .int(32)]],
      ]
    }
    let report = try merged([
      ShardSamples.report(
        1, of: 2, [ShardSamples.transfer(2, "b", policy: "p2"), ShardSamples.transfer(3, "c", policy: "p1")],
        policies: ["p1": policy(8, 3), "p2": ["transfers": "auto"]]),
      ShardSamples.report(
        2, of: 2, [ShardSamples.transfer(1, "a", policy: "p1", capabilities: "c2")],
        policies: ["p1": policy(9, 4)],
        capabilities: ["c1": ["protocol": "http"], "c2": ["protocol": "s3"]]),
    ])
    #expect(report["transfers"].array?.map { $0["policy"]["ref"].string } == ["p1", "p2", "p1"])
    #expect(report["transfers"].array?.map { $0["capabilities"].string } == ["c1", "c2", "c2"])
    #expect(report["policies"].members?.map(\.name) == ["p1", "p2"])
    #expect(
      report["policies"]["p1"] == [
        "transfers": .integer(16), "connections": ["per_host": "auto", "found": ["http://h": .integer(7)]],
        "retry": .integer(8), "job_limits": ["transfers": .integer(32)],
      ])
    #expect(report["capabilities"] == ["c1": ["protocol": "s3"], "c2": ["protocol": "http"]])
  }

  /// What an ordinary transfer has without saying so stands in the merged report, and means the same there.
  @Test func capabilitiesThatNobodyNamesAreKept() throws {
    func ordinary(_ ordinal: Int, _ id: String, capabilities: String? = nil) -> JSON {
      let left = ["attempts", capabilities == nil ? "capabilities" : ""]
      let members = ShardSamples.transfer(ordinal, id, capabilities: capabilities ?? "").members ?? []
      return .object(
        members.filter { !left.contains($0.name) }
          + [.init("protocol", "http"), .init("direction", "download")])
    }
    func ability(_ isResumable: Bool) -> JSON {
      ["protocol": "http", "direction": "download", "url": .null, "resumable": .bool(isResumable)]
    }
    let report = try merged([
      ShardSamples.report(
        1, of: 2, [ordinary(1, "a"), ordinary(4, "d", capabilities: "c2")],
        capabilities: ["c1": ability(true), "c2": ability(false)]),
      ShardSamples.report(
        2, of: 2, [ordinary(2, "b"), ordinary(3, "c", capabilities: "c2")],
        capabilities: ["c1": ability(false), "c2": ability(true)]),
    ])
    #expect(report["capabilities"] == ["c1": ability(true), "c2": ability(false)])
    #expect(report["transfers"].array?.map { $0["capabilities"].string } == [nil, "c2", nil, "c2"])
  }

  /// One machine's report of a long plan lists what changed; the parts' reports may be short enough to list all.
  @Test func aLongPlanIsReportedByWhatChanged() throws {
    let reports = [
      ShardSamples.report(
        1, of: 2, [ShardSamples.transfer(1, "a"), ShardSamples.transfer(4, "d", state: "up_to_date")]),
      ShardSamples.report(
        2, of: 2,
        [
          ShardSamples.transfer(2, "b", state: "up_to_date"), ShardSamples.transfer(3, "c", state: "queued"),
          ShardSamples.transfer(5, "e", state: "up_to_date", reason: "adopted"),
        ]),
    ]
    let samples = try ShardSamples()
    var report = try MergedReport(
      try reports.map { try samples.write($0.text) }, isPartial: false, toolVersion: "1")
    for (limit, scope, ids) in [
      (4, "changed", ["a", "c", "e"]), (5, "all", ["a", "b", "c", "d", "e"]),
    ] {
      report.scopeLimit = Int64(limit)
      let written = try Self.written(report)
      #expect(written["transfers_scope"].string == scope && written["totals"]["transfers"] == .integer(5))
      #expect(written["transfers"].array?.compactMap { $0["id"].string } == ids)
      var rows = 0
      _ = try report.transfers(.every) { _ in rows += 1 }
      #expect(rows == 5, "forms that have every transfer have it all the same")
    }
  }

  @Test func causesAreThoseOfOneMachine() throws {
    let report = try merged([
      ShardSamples.report(
        1, of: 2,
        [
          ShardSamples.transfer(
            3, "c", state: "failed", error: ShardSamples.error("`http://host.example/c` is not there")),
          ShardSamples.transfer(
            5, "e", state: "failed", error: ShardSamples.error("wrong", code: "INTEGRITY_MISMATCH")),
        ], exitCode: 1, state: "failed"),
      ShardSamples.report(
        2, of: 2,
        [
          ShardSamples.transfer(
            1, "a", state: "failed", error: ShardSamples.error("`http://host.example/a` is not there")),
          ShardSamples.transfer(
            2, "b", state: "failed", error: ShardSamples.error("`http://host.example/b` is not there")),
          ShardSamples.transfer(
            4, "i", state: "failed", error: ShardSamples.error("`http://host.example/i` is not there")),
        ], exitCode: 2, state: "failed"),
    ])
    let told = MembersText(report.members ?? [], isColoured: false).text
    #expect(told.contains("\n    hint: \(ErrorCode.notFound.hint)\n"), "\(told)")
    let causes = try #require(report["causes"].array)
    #expect(causes.map { $0["count"].int64 } == [4, 1])
    #expect(causes.map { $0["ids"].strings } == [["a", "b", "c"], ["e"]])
    #expect(causes[0]["host"] == "host.example" && causes[1]["message"] == "wrong")
    #expect(report["run"]["exit_code"] == .integer(2) && report["job"]["state"] == "failed")
  }

  @Test(arguments: [
    ([0, 0], 0), ([0, 1], 1), ([0, 75], 75), ([1, 75], 2), ([1, 2], 2), ([75, 75], 75), ([1, 1], 1),
    ([0, 73], 75), ([66, 66], 66), ([0, 66], 66), ([66, 75], 75), ([1, 66], 1),
  ])
  func exitCodes(_ codes: [Int], _ code: Int) throws {
    let reports = codes.enumerated().map { ShardSamples.report($0 + 1, of: 2, [], exitCode: $1) }
    #expect(try merged(reports)["run"]["exit_code"] == .int(code))
  }

  @Test func whatIsMissingIsRefusedOrTold() throws {
    let one = [ShardSamples.report(3, of: 16, [ShardSamples.transfer(1, "a")])]
    let fault = try self.fault(one)
    #expect(
      fault.kind == .mismatch && fault.message.contains("15 of 16 shards are missing: 1/16, 2/16, 4/16"))
    let report = try merged(one, partial: true)
    #expect(report["run"]["shards"]["merged"] == .integer(1))
    #expect(report["run"]["shards"]["missing"].array?.count == 15)
    #expect(report["run"]["exit_code"] == .integer(75) && report["run"]["outcome"] == "incomplete")
    #expect(report["diagnostics"].array?.first?["message"].string?.contains("are missing") == true)
  }

  @Test func aRunThatNeverBeganIsNoPart() throws {
    let never = ShardSamples.report(
      1, of: 2, [], exitCode: 76, run: [.init("number", .null), .init("outcome", "refused")])
    let fault = try self.fault([never, Self.two[0]])
    #expect(fault.kind == .mismatch && fault.message.contains("never began"))
    let report = try merged([never, Self.two[0]], partial: true)
    #expect(report["run"]["shards"]["missing"].array == [.integer(1)])
  }

  /// It tells which run it was, and nothing of its transfers.
  @Test func aRunThatLostItsStateIsNoPart() throws {
    let job = Self.two[1]["job"].members?.filter { $0.name != "state" } ?? []
    let lost = ShardSamples.report(
      1, of: 2, [], exitCode: 73, changed: [.init("job", .object(job + [.init("state", .null)]))])
    let fault = try self.fault([lost, Self.two[0]])
    #expect(fault.kind == .mismatch && fault.message.contains("state was lost"))
    let report = try merged([lost, Self.two[0]], partial: true)
    #expect(report["run"]["shards"]["missing"].array == [.integer(1)])
  }

  private static func job(_ name: String, _ sha256: String, inputs: String? = nil) -> JSON.Member {
    .init(
      "job",
      [
        "name": .string(name), "state": "completed", "manifest_sha256": .string(sha256),
        "inputs_sha256": .text(inputs),
      ])
  }

  static let strangers: [(String, JSON, String)] = [
    (
      "job", ShardSamples.report(1, of: 2, [], changed: [job("other", String(repeating: "ab", count: 32))]),
      "the job is"
    ),
    ("manifest", ShardSamples.report(1, of: 2, [], changed: [job("nightly", "00")]), "SHA-256"),
    ("count", ShardSamples.report(1, of: 3, []), "number of shards"),
    ("doubled", ShardSamples.report(2, of: 2, []), "both the report of shard 2/2"),
    ("whole", ShardSamples.report(1, of: 2, [], run: [.init("shard", .null)]), "not the report of a shard"),
    (
      "selection",
      ShardSamples.report(
        1, of: 2, [], changed: [.init("selection", ["kind": "only", "only": "a*", "totals": [:]])]),
      "selection"
    ),
    (
      "cut",
      ShardSamples.report(
        1, of: 2, [ShardSamples.transfer(1, "a")], changed: [.init("transfers", .array([]))]),
      "something was taken out"
    ),
  ]

  @Test(arguments: strangers.indices) func whatDoesNotBelongTogetherIsRefused(_ index: Int) throws {
    let (_, other, words) = Self.strangers[index]
    for partial in [false, true] {
      let fault = try self.fault([Self.two[0], other], partial: partial)
      #expect(fault.kind == .mismatch && fault.message.contains(words), "\(fault.message)")
    }
  }

  /// Rows that came or went between the parts leave places of the plan to nobody, or to two.
  @Test(arguments: [
    ([1, 3], [2, 5], "2.json` has transfer 5 of the plan, and all reports together have 4"),
    ([1, 6], [2, 4], "1.json` has transfer 6 of the plan, and all reports together have 4"),
    ([1, 2], [2, 4], "taken twice"), ([1, 1], [1], "taken twice"),
  ])
  func partsOfDifferentPlansAreRefused(_ first: [Int], _ second: [Int], _ words: String) throws {
    let reports = [first, second].enumerated().map { index, places in
      ShardSamples.report(index + 1, of: 2, places.map { ShardSamples.transfer($0, "rows/\($0)") })
    }
    for partial in [false, true] {
      let fault = try self.fault(reports, partial: partial)
      #expect(fault.kind == .mismatch && fault.message.contains(words), "\(fault.message)")
      #expect(fault.hint?.contains("rows or listings changed") == true)
    }
    // The places of what is missing are not known.
    #expect(try merged([reports[0]], partial: true)["totals"]["transfers"] == .int(first.count))
  }

  /// Parts may have no transfer, list only what changed, be written by a version that told no places, and have any text.
  @Test func partsOfOnePlanAreMerged() throws {
    func older(_ id: String) -> JSON {
      .object((ShardSamples.transfer(1, id).members ?? []).filter { $0.name != "ordinal" })
    }
    let long = ShardSamples.report(2, of: 2, (1...4).map { ShardSamples.transfer($0, "\($0)") })
    let short = ShardSamples.report(
      2, of: 2, [ShardSamples.transfer(5, "e")],
      changed: [.init("totals", long["totals"]), .init("transfers_scope", "changed")])
    let odd = ["ordinal", "\"ordinal\":7", "\u{1}\"ordinal\":8", "x"].enumerated().map {
      ShardSamples.transfer($0.offset + 1, $0.element)
    }
    let one = ShardSamples.report(1, of: 2, [ShardSamples.transfer(2, "b")])
    for (reports, count) in [
      ([ShardSamples.report(1, of: 2, []), long], 4), ([one, short], 5),
      ([ShardSamples.report(1, of: 2, [older("a"), older("b")]), short], 6),
      ([ShardSamples.report(1, of: 2, []), ShardSamples.report(2, of: 2, odd)], 4),
    ] {
      for pretty in [false, true] {
        #expect(try merged(reports, pretty: pretty)["totals"]["transfers"] == .int(count))
      }
    }
  }

  /// Reports of earlier versions tell nothing of `--set` and imports.
  @Test func inputsAreComparedWhereTheyAreTold() throws {
    func part(_ index: Int, _ inputs: String?) -> JSON {
      ShardSamples.report(
        index, of: 2, [], changed: [Self.job("nightly", String(repeating: "ab", count: 32), inputs: inputs)])
    }
    let fault = try self.fault([part(2, "ab"), part(1, "cd")], partial: true)
    #expect(fault.kind == .mismatch && fault.message.contains("digest of `--set` and imports"))
    for parts in [
      [part(1, nil), part(2, "cd")], [part(2, "cd"), part(1, nil)], [part(1, "cd"), part(2, "cd")],
    ] {
      #expect(try merged(parts)["totals"]["transfers"].int64 == 0)
    }
  }

  static let noReports = [
    "", "[]", "null", "{", "{}", "{\"schema\":\"haul.report/v1\"}", "{\"transfers\":[{}",
    "{\"transfers\":[{} {}]}",
    "{\"transfers\":[],\"transfers\":[]}", "{\"a\":1 \"b\":2}", "{\"a\":1}{}", "{\"a\":}",
    "{\"transfers\":[1,]}",
    "\u{FEFF}{\"a\":1}", "{\"a\"}", "{a:1}", "{\"transfers\":[}]}",
  ]

  @Test(arguments: noReports) func whatIsNoReportIsRefused(_ text: String) throws {
    let samples = try ShardSamples()
    let path = try samples.write(text)
    let fault = #expect(throws: MergeFault.self) {
      try MergedReport([path], isPartial: true, toolVersion: "1")
    }
    #expect(fault?.kind == .unreadable && fault?.message.contains(path) == true, "\(fault?.message ?? "")")
  }

  @Test func aTransferThatIsNoJSONIsNamed() throws {
    let samples = try ShardSamples()
    let text = ShardSamples.report(1, of: 1, [.string("HERE")]).text.replacing(
      "\"HERE\"", with: "{\"id\":tru}")
    let report = try MergedReport([try samples.write(text)], isPartial: false, toolVersion: "1")
    #expect(throws: MergeFault.self) { _ = try Self.written(report) }
  }

  /// Commas, brackets, quotes and line ends inside of texts, and a byte order mark.
  @Test func textsMayHoldAnything() throws {
    let samples = try ShardSamples()
    let id = "a]}[{,:\\\" \n\u{1F600}"
    let text =
      "\u{FEFF}\r\n" + ShardSamples.report(1, of: 1, [ShardSamples.transfer(1, id)]).pretty + "\r\n \t"
    let path = try samples.write(text)
    let report = try Self.written(MergedReport([path], isPartial: false, toolVersion: "1"))
    #expect(report["transfers"].array?.first?["id"].string == id)
  }

  /// Each block ends in another place of a value.
  @Test func valuesMayCrossBlocks() throws {
    let transfers = (0..<3000).map {
      ShardSamples.transfer($0 + 1, "id/\($0)/" + String(repeating: "x", count: $0 % 97))
    }
    let reports = (1...3).map { index in
      ShardSamples.report(
        index, of: 3, transfers.enumerated().filter { $0.offset % 3 == index - 1 }.map(\.element))
    }
    let report = try merged(reports, pretty: true)
    #expect(
      report["transfers"].array?.compactMap { $0["id"].string } == transfers.compactMap { $0["id"].string })
  }

  @Test func formsAreWrittenOfIt() throws {
    let samples = try ShardSamples()
    let paths = try Self.two.map { try samples.write($0.text) }
    let report = try MergedReport(paths, isPartial: false, toolVersion: "1")
    for form in ReportForm.allCases {
      var bytes: [UInt8] = []
      try form.write(report) { bytes += $0 }
      let text = String(decoding: bytes, as: UTF8.self)
      switch form {
      case .text:
        #expect(text.hasPrefix("nightly: completed (2 of 2 shards, "), "\(text)")
        #expect(text.contains("2026-01-01T00:01:02.000Z, exit code 0\n"), "\(text)")
      case .csv: #expect(text.split(separator: "\r\n").count == 5)
      case .jsonl: #expect(text.split(separator: "\n").count == 5)
      case .prometheus: #expect(text.contains("haul_job_exit_code{job=\"nightly\"} 0"))
      case .json, .html, .ids, .junit, .sha256sums: break
      }
    }
  }

  /// A merged report knows of one run alone: what it does not know is left out.
  @Test(
    arguments: [(0, .null, true), (1, .null, false), (75, .null, false), (0, "only", false)]
      as [(Int, JSON, Bool)])
  func theLastSuccessIsThatOfAWholeJob(_ code: Int, _ kind: JSON, _ isKnown: Bool) throws {
    let selection: JSON = kind == .null ? .null : ["kind": kind, "only": "a/**", "totals": [:]]
    let samples = try ShardSamples()
    let paths = try (1...2).map { index in
      let report = ShardSamples.report(
        index, of: 2, [], exitCode: index == 1 ? code : 0, changed: [.init("selection", selection)])
      return try samples.write(report.text)
    }
    let merged = try MergedReport(paths, isPartial: false, toolVersion: "1")
    for report in [merged, IncompleteReport(merged)] as [any Report] {
      var bytes: [UInt8] = []
      try ReportForm.prometheus.write(report) { bytes += $0 }
      let text = String(decoding: bytes, as: UTF8.self)
      let value = "haul_job_last_success_timestamp_seconds{job=\"nightly\"} 1767225662\n"
      #expect(
        text.contains(isKnown ? value : "haul_job_exit_code") && text.contains("last_success") == isKnown)
    }
  }

  @Test func aFileThatChangesIsNotRead() throws {
    let samples = try ShardSamples()
    let path = try samples.write(ShardSamples.report(1, of: 1, [ShardSamples.transfer(1, "a")]).text)
    let report = try MergedReport([path], isPartial: false, toolVersion: "1")
    try Data("{}".utf8).write(to: URL(fileURLWithPath: path))
    #expect(throws: MergeFault.self) { _ = try Self.written(report) }
    let absent = #expect(throws: MergeFault.self) {
      try MergedReport([samples.folder + "/none.json"], isPartial: false, toolVersion: "1")
    }
    #expect(absent?.kind == .unreadable)
    let input = #expect(throws: MergeFault.self) {
      try MergedReport(["-"], isPartial: false, toolVersion: "1")
    }
    #expect(input?.message.contains("read twice") == true)
  }
}
