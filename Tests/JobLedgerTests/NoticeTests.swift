import JobLedger
import JobModel
import Testing

/// Notices are on record with their event, and until they are delivered.
struct NoticeTests {
  private static func notice(_ key: String, _ message: NoticeMessage) -> OwedNotice {
    var policy = EffectivePolicy()
    policy.deniedHosts = ["*.example.net"]
    policy.retryAttempts = 3
    return OwedNotice(key: key, event: .end, message: message, policy: policy, owedAt: 5)
  }

  private static let messages: [NoticeMessage] = [
    .command(["sh", "-c", "x"], variables: ["HAUL_RUN_ID": "01A"], folder: "/f"),
    .webhook(
      url: .text("https://h/key"), body: #"{"a":"b"}"#,
      headers: [
        HeaderSetting(name: "X-A", value: .text("b")),
        HeaderSetting(name: "X-S", value: .secret(.environment("S"))),
      ], sign: .file("/key")),
    .ping(url: .secret(.command(["pass", "ping"])), path: "/75"),
  ]

  @Test func whatIsOwedComesBackAsItWas() throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    let owed = Self.messages.enumerated().map { Self.notice("k\($0.offset)", $0.element) }
    #expect(try !ledger.owesNotices)
    let run = try ledger.startRun(id: "01A", overrides: [:], at: 1) { run, attempt in
      #expect(run == 1 && attempt == 1)
      return [owed[0]]
    }
    try ledger.endAttempt(
      run: run.number, outcome: .completed, exitCode: 0, isOver: true, bytesTransferred: 0, scope: nil,
      owing: Array(owed[1...]), at: 2)
    // The same event is not told twice.
    try ledger.owe(owed, run: run.number)
    #expect(try ledger.owedNotices() == owed && ledger.owesNotices)
    #expect(try ledger.notices(run: 1).map(\.target) == ["sh", "https://h/***", "***"])
  }

  /// What a job tells, kept for runs whose manifest can't be read.
  @Test func whatAJobTellsComesBackAsItWas() throws {
    let text = try InterpolationParser.parse("$${x}$ ${job.name|url|default(a b)}: ${run.exit_code}")
    let body = NoticeTemplate.Body.mapping([
      .init("text", .text(text)), .init("list", .list([.value(.integer(1)), .value(.null), .value("t")])),
      .init("deep", .mapping([.init("value", .value(.object([.init("a", .bool(true))])))])),
    ])
    var policy = EffectivePolicy()
    policy.deniedHosts = ["*.example.net"]
    let kept = KeptNotices(
      notices: [
        NoticeTemplate(.start, index: 1, .ping(.text(text))),
        NoticeTemplate(.failure, index: 2, .ping(.secret(.environment("PING")))),
        NoticeTemplate(.failure, index: 3, .command([InterpolatedText("mail"), text, InterpolatedText("")])),
        NoticeTemplate(
          .end, index: 1,
          .webhook(
            url: .text(InterpolatedText("https://h/key")), json: body,
            headers: [
              .init(name: "X-A", value: .text(text)), .init(name: "X-S", value: .secret(.file("/key"))),
            ], sign: .command(["pass", "hook"]))),
        NoticeTemplate(
          .end, index: 2, .webhook(url: .secret(.file("/url")), json: nil, headers: [], sign: nil)),
      ], policy: policy, folder: "/f")
    #expect(KeptNotices(kept.text) == kept)
    var unknown = kept
    unknown.policy = nil
    #expect(KeptNotices(unknown.text) == unknown)
    #expect(KeptNotices("[") == nil)
    // What the environment gave is not kept.
    let mask = SecretMask()
    mask.learn(Secret("https://h/key"))
    var rest = kept.notices
    rest.remove(at: 3)
    #expect(kept.without(mask).notices == rest)
  }

  @Test func triesAreCountedUntilItIsSettled() throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    let run = try ledger.startRun(id: "01A", overrides: [:], at: 1) { _, _ in
      [Self.notice("k", Self.messages[2])]
    }
    var record = NoticeRecord(try #require(try ledger.owedNotices().first))
    (record.tries, record.error) = (3, "no answer")
    try ledger.note(record, at: 2)
    #expect(try ledger.owedNotices().count == 1)
    (record.state, record.tries, record.error) = (.delivered, 1, nil)
    try ledger.note(record, at: 3)
    // What is settled stays so.
    (record.state, record.tries) = (.failed, 9)
    try ledger.note(record, at: 4)
    record.state = .delivered
    record.tries = 4
    #expect(try ledger.owedNotices().isEmpty && ledger.notices(run: run.number) == [record])
  }

  /// Who does not answer keeps nothing back from others.
  @Test func eachReceiverHasItsShare() throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    let others = [Self.messages[2], .command(["mail"], variables: [:], folder: "/f")]
    try ledger.owe((0..<1200).map { Self.notice("k\($0)", Self.messages[1]) }, run: nil)
    try ledger.owe(others.enumerated().map { Self.notice("o\($0.offset)", $0.element) }, run: nil)
    #expect(try ledger.owedNotices(ofEach: 2).map(\.key) == ["k0", "k1", "o0", "o1"])
    #expect(try ledger.owedNotices().count == 102)
  }

  @Test func aRunThatIsStillToBeToldIsKept() throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    for number in 1...4 {
      let run = try ledger.startRun(id: "0\(number)", overrides: [:], at: 1) { _, _ in
        number == 2 ? [Self.notice("k", Self.messages[0])] : []
      }
      try ledger.endAttempt(
        run: run.number, outcome: .failed, exitCode: 1, isOver: true, bytesTransferred: 0, scope: nil, at: 2)
    }
    #expect(try ledger.forgetRuns(keeping: 1, remove: true).map(\.number) == [3, 1])
    var record = NoticeRecord(try #require(try ledger.owedNotices().first))
    record.state = .delivered
    try ledger.note(record, at: 3)
    #expect(try ledger.forgetRuns(keeping: 1, remove: true).map(\.number) == [2])
  }

  @Test func aPolicyThatIsNotKnownStaysSo() throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    var notice = Self.notice("k", Self.messages[1])
    notice.policy = nil
    try ledger.owe([notice], run: nil)
    #expect(try ledger.owedNotices() == [notice])
  }

  /// Runs that never began leave no more than the newest hundred, and all that is owed.
  @Test func thoseOfNoRunAreForgotten() throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.owe((0..<150).map { Self.notice("k\($0)", Self.messages[0]) }, run: nil)
    for notice in try ledger.owedNotices(ofEach: 150).dropLast() {
      var record = NoticeRecord(notice)
      record.state = .delivered
      try ledger.note(record, at: 1)
    }
    #expect(try ledger.owedNotices().map(\.key) == ["k149"])
    try ledger.owe([Self.notice("k149", Self.messages[0]), Self.notice("k0", Self.messages[0])], run: nil)
    #expect(
      try ledger.owedNotices().map(\.key) == ["k149", "k0"], "the oldest is forgotten, the others are known")
  }
}
