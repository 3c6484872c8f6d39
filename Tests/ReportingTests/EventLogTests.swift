import Foundation
import JobLedger
import JobModel
import Synchronization
import Testing
import TestSupport
import Transfers

@testable import Reporting

@Suite struct EventLogTests {
  private let scratch: Scratch
  private var folder: String { scratch.path }
  private var path: String { folder + "/events.jsonl" }

  init() throws {
    scratch = try Scratch()
  }

  private func open(run: String = "01RUN", attempt: Int = 1, recorded: Int = 0) throws -> EventLog {
    let (descriptor, seq) = try EventFile.open(path, run: run, recorded: recorded)
    return EventLog(
      descriptor: descriptor, path: path, closing: true, run: run, attempt: attempt, firstSeq: seq,
      now: { 1_700_000_000 }, onFailure: { _ in })
  }

  private func lines() throws -> [[UInt8]] {
    let text = try String(contentsOfFile: path, encoding: .utf8)
    return text.split(separator: "\n").map { Array($0.utf8) }
  }
  private func seqs() throws -> [Int?] { try lines().map { try Document($0)["seq"].int } }
  private func append(_ text: String) throws {
    let handle = try #require(FileHandle(forWritingAtPath: path))
    try handle.seekToEnd()
    try handle.write(contentsOf: Data(text.utf8))
  }

  @Test func `every event keeps to the schema`() async throws {
    let job = try await SampleJob()
    let failure = Failure(.timeout, "https://h/a?sig=SECRET is slow", httpStatus: 504, chunk: 3)
    let events: [RunEvent] = [
      .runStarted(
        job: "nightly", number: 7, manifest: "job.yaml", manifestSHA256: String(repeating: "a", count: 64)),
      .planCompiled(PlanChange(), transfers: 3),
      .engine(.state(id: "a", from: .queued(nil), to: .running, failure: nil)),
      .engine(.state(id: "a", from: .running, to: .paused(.retries), failure: failure)),
      .engine(.chunk(id: "a", index: 0, bytes: 500, attempts: 1)),
      .engine(.retry(id: "a", delay: 0.25, failure: failure)),
      .engine(.checked(id: "a", Verification("sha256", .server, .match))),
      .engine(.diagnostic(Diagnostic(.warning, "w", at: SourceMark(file: "j", line: 1, column: 1)))),
      .progress(try job.ledger.counts(), try job.ledger.sums(), rate: 12.5),
      .progress(StateCounts(), try job.ledger.sums(), rate: nil),
      .diagnostic(RecordedDiagnostic(Diagnostic(.note, "n", hint: "h"))),
      .runEnded(.incomplete, exitCode: 75, report: nil),
    ]
    let log = try open()
    for event in events { log.write(event) }
    log.flush()
    let lines = try lines()
    #expect(lines.count == events.count && log.writtenSeq == events.count)
    #expect(try Schemas.faults("event", lines) == "")
    #expect(try seqs() == Array(1...events.count))
    #expect(!lines.contains { String(decoding: $0, as: UTF8.self).contains("SECRET") })
    let state = try Document(lines[3])
    #expect(state["to"].text == "paused" && state["reason"].text == "retries")
    #expect(state["error", "code"].text == "TIMEOUT" && state["error", "chunk"].int == 3)
    #expect(try Document(lines[2])["error"].isNull)
    #expect(try Document(lines[5])["delay_s"].double == 0.25)
    #expect(try Document(lines[8])["totals", "bytes", "discarded"].int == 200)
    let head =
      #"{"schema":"haul.event/v1","at":"2023-11-14T22:13:20.000Z","run":"01RUN","attempt":1,"seq":1,"event":"run_started","#
    #expect(String(decoding: lines[0], as: UTF8.self).hasPrefix(head))
  }

  @Test func `a schema that finds no fault would find one`() throws {
    let line = Array(
      #"{"schema":"haul.event/v1","at":"2023","run":"r","attempt":1,"seq":1,"event":"run_ended"}"#.utf8)
    let faults = try Schemas.faults("event", [line])
    #expect(faults.contains("at ") && faults.contains("outcome"))
  }

  @Test func `numbers go on over attempts, behind a torn line too`() throws {
    let first = try open()
    for index in 0..<3 { first.write(.engine(.chunk(id: "a", index: index, bytes: 1, attempts: 1))) }
    first.flush()
    try append(#"{"schema":"haul.event/v1","at":"20"#)
    let second = try open(attempt: 2, recorded: 99)
    second.write(.runEnded(.completed, exitCode: 0, report: "r.json"))
    second.flush()
    #expect(try seqs() == [1, 2, 3, 4])
    #expect(try Document(lines()[3])["attempt"].int == 2)
  }

  @Test func `another run begins anew, another file goes on from the ledger's count`() throws {
    let first = try open()
    first.write(.planCompiled(PlanChange(), transfers: 1))
    first.flush()
    let second = try open(run: "02RUN")
    second.write(.planCompiled(PlanChange(), transfers: 1))
    second.flush()
    #expect(try seqs() == [1, 1])
    try FileManager.default.removeItem(atPath: path)
    let third = try open(run: "02RUN", attempt: 2, recorded: 41)
    third.write(.planCompiled(PlanChange(), transfers: 1))
    third.flush()
    #expect(try seqs() == [42])
  }

  @Test func `a file that is not ours loses nothing`() throws {
    try "someone's notes".write(toFile: path, atomically: true, encoding: .utf8)
    let log = try open()
    log.write(.planCompiled(PlanChange(), transfers: 1))
    log.flush()
    let lines = try lines()
    #expect(lines.count == 2 && String(decoding: lines[0], as: UTF8.self) == "someone's notes")
  }

  @Test(arguments: [100, 20_000, 300_000])
  func `the last line is found however long it is`(length: Int) throws {
    let log = try open()
    log.write(.planCompiled(PlanChange(), transfers: 1))
    let long = String(repeating: "x", count: length)
    log.write(.diagnostic(RecordedDiagnostic(Diagnostic(.note, long))))
    log.flush()
    try append("{\"schema\":\"haul.event/v1\"," + long)
    let (descriptor, seq) = try EventFile.open(path, run: "01RUN", recorded: 0)
    close(descriptor)
    #expect(seq == 3)
    #expect(try lines().count == 2)
  }

  /// Enough to be read in several steps.
  @Test(arguments: [0, 3, 2000]) func `the tail tells the last states of some seconds`(count: Int) throws {
    let log = try open()
    func write(_ id: String, _ state: TransferState, at: Double) {
      log.write(
        .engine(.state(id: id, from: .running, to: state, failure: nil)), of: (attempt: 3, at: at))
    }
    write("before", .completed, at: 100)
    write("a", .failed, at: 200)
    for index in 0..<count { write("n\(index)", .completed, at: 200 + 2 * Double(index) / Double(count)) }
    write("a", .completed, at: 203)
    write("b", .paused(.retries), at: 204)
    log.flush()
    let tail = try #require(EventFile.tail(of: path, run: "01RUN"))
    #expect(tail.at == 204 && tail.states.count == count + 2)
    #expect(tail.states[ByteText("a")] == "completed" && tail.states[ByteText("b")] == "paused")
    #expect(EventFile.tail(of: path, run: "02RUN") == nil && EventFile.tail(of: folder, run: "01RUN") == nil)
    #expect(try Document(lines()[0])["attempt"].int == 3)
  }

  @Test func `lines reach the file by themselves`() async throws {
    let log = try open()
    log.write(.planCompiled(PlanChange(), transfers: 1))
    let begin = ContinuousClock.now
    while try lines().isEmpty, begin.duration(to: .now) < .seconds(5) {
      try await Task.sleep(for: .milliseconds(10))
    }
    #expect(try lines().count == 1)
    withExtendedLifetime(log) {}
  }

  /// What the ledger lacks has no line that a kill could leave; what is flushed has.
  @Test func `a line waits until what it tells is on record`() async throws {
    let asked = Mutex<[@Sendable () -> Void]>([])
    let log = try open()
    log.follow { recorded in asked.withLock { $0.append(recorded) } }
    log.write(.planCompiled(PlanChange(), transfers: 1))
    while asked.withLock({ $0.isEmpty }) { try await Task.sleep(for: .milliseconds(10)) }
    log.write(.planCompiled(PlanChange(), transfers: 2))
    #expect(try lines().isEmpty)
    let recorded = try #require(asked.withLock { $0.first })
    recorded()
    while try lines().isEmpty { try await Task.sleep(for: .milliseconds(10)) }
    #expect(try seqs() == [1], "what was told behind it is on record later")
    log.flush()
    #expect(try seqs() == [1, 2])
  }

  @Test func `many threads leave no gap and no torn line`() async throws {
    let log = try open()
    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<8 {
        group.addTask {
          for index in 0..<2000 {
            log.write(.engine(.chunk(id: "worker-\(worker)", index: index, bytes: 1, attempts: 1)))
          }
        }
      }
    }
    log.flush()
    #expect(try seqs() == Array(1...16_000))
  }

  @Test func `a full device is told of once`() throws {
    let told = Mutex<[OutputFileError]>([])
    let (descriptor, seq) = try EventFile.open("/dev/full", run: "r", recorded: 5)
    let log = EventLog(
      descriptor: descriptor, path: "/dev/full", closing: true, run: "r", attempt: 1, firstSeq: seq,
      now: { 0 },
      onFailure: { error in told.withLock { $0.append(error) } })
    for _ in 0..<3 {
      log.write(.planCompiled(PlanChange(), transfers: 1))
      log.flush()
    }
    // What is not written has no number: the next attempt leaves no gap.
    #expect(seq == 6 && log.writtenSeq == 5)
    #expect(told.withLock { $0.map(\.detail) } == ["No space left on device"])
  }

  @Test func `a missing folder is an error`() {
    #expect(throws: OutputFileError.self) { try EventFile.open(folder + "/no/e", run: "r", recorded: 0) }
  }
}
