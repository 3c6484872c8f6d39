import Admission
import Foundation
import JobLedger
import JobModel
import Testing

@testable import Scheduler

/// Whose turn it is, by policy and host, over a real ledger.
struct TurnQueueTests {
  /// A plan: each word is a transfer, `POLICY@HOST`; its id is its place, from 1.
  private final class Plan {
    let ledger: JobLedger
    private let path: String
    var queue = TurnQueue(isSelective: false)
    var full: Set<String> = []
    var awaited: Set<String> = []
    var shut: Set<String> = []
    private let words: [String]

    /// - Parameter eachApart: each has settings of its own, as rows may have.
    init(_ words: [String], eachApart: Bool = false) throws {
      self.words = words
      path = FileManager.default.temporaryDirectory.path + "/haul-turns-" + UUID().uuidString
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      ledger = try JobLedger(folder: path, mayMigrate: true)
      _ = try ledger.compile { add in
        for (index, word) in words.enumerated() {
          var settings = TransferSettings(direction: .download)
          settings.policyName = String(word.split(separator: "@")[0]) + (eachApart ? "\(index)" : "")
          let id = "t\(index + 1)"
          let entry = PlannedTransfer(
            id: id, source: Place("http://\(word.split(separator: "@")[1])/\(id)"), destination: Place(id),
            destinationIdentity: id, settings: settings, expect: JobModel.Expectation(),
            mark: SourceMark(file: "job", line: 1, column: 1), takesSourceName: false)
          try add(entry, withUnsafeBytes(of: index) { Array($0) })
        }
      }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func group(_ name: String) -> PolicyGroup.Key {
      PolicyGroup.Key(number: name.utf8.reduce(0) { $0 * 256 + Int($1) })
    }

    /// The next one's place in the plan; nil where nobody has a turn.
    func next() throws -> Int? {
      let found = try queue.next(ledger, blocked: []) { [words] transfer in
        let parts = words[Int(transfer.seq) - 1].split(separator: "@").map(String.init)
        return TurnQueue.Key(group: group(parts[0]), host: parts[1])
      } state: { key in
        if full.contains(where: { group($0) == key.group }) { return .full }
        if awaited.contains(key.host ?? "") { return .awaited }
        return shut.contains(key.host ?? "") ? .shut : .free
      }
      return found.map { Int($0.seq) }
    }

    func all() throws -> [Int] {
      var found: [Int] = []
      while let place = try next() { found.append(place) }
      return found
    }
  }

  struct Case: Sendable, CustomStringConvertible {
    var plan: [String]
    var full: Set<String> = []
    var shut: Set<String> = []
    var first: [Int]
    /// What comes once nothing is shut or full any more.
    var then: [Int] = []
    var description: String { "\(plan), full \(full), shut \(shut)" }
  }

  @Test(arguments: [
    Case(plan: ["p@a", "p@b", "q@a", "p@a"], first: [1, 2, 3, 4]),
    Case(plan: ["p@a", "p@b", "q@a", "p@a"], shut: ["a"], first: [2], then: [1, 3, 4]),
    Case(plan: ["p@a", "p@b", "q@a", "p@a"], full: ["p"], first: [3], then: [1, 2, 4]),
    Case(plan: ["p@a", "p@b", "q@a", "q@b"], full: ["p"], shut: ["a"], first: [4], then: [1, 2, 3]),
    Case(plan: ["p@a", "p@a"], shut: ["a"], first: [], then: [1, 2]),
    Case(plan: ["p@a", "q@b"], full: ["p", "q"], first: [], then: [1, 2]),
    Case(plan: [], first: []),
  ]) func whoIsHeldUpHoldsNobodyElseUp(_ one: Case) throws {
    let plan = try Plan(one.plan)
    (plan.full, plan.shut) = (one.full, one.shut)
    #expect(try plan.all() == one.first)
    (plan.full, plan.shut) = ([], [])
    #expect(try plan.all() == one.then)
    #expect(plan.queue.isEmpty)
  }

  /// More than a page of the plan waits before the first one that may go.
  @Test(arguments: [300, 3000]) func aLongLineIsReadPast(_ length: Int) throws {
    let plan = try Plan(Array(repeating: "p@dead", count: length) + ["p@b", "q@b"])
    plan.shut = ["dead"]
    #expect(try plan.all() == [length + 1, length + 2])
    plan.shut = []
    #expect(try plan.all() == Array(1...length))
  }

  @Test(arguments: [300, 3000]) func aLongLineOfAFullPolicyIsReadPast(_ length: Int) throws {
    let plan = try Plan(Array(repeating: "p@a", count: length) + ["q@a", "q@b"])
    plan.full = ["p"]
    #expect(try plan.all() == [length + 1, length + 2])
    plan.full = []
    #expect(try plan.all() == Array(1...length))
  }

  /// However many settings there are, what waits is read on once its policy has turns again.
  @Test func rowsOfSettingsOfTheirOwn() throws {
    let plan = try Plan(Array(repeating: "p@a", count: 1500) + ["q@a"], eachApart: true)
    plan.full = ["p"]
    #expect(try plan.all() == [1501])
    plan.full = []
    #expect(try plan.all() == Array(1...1500))
    #expect(plan.queue.isEmpty)
  }

  /// More policies than are left out of the reading at a time, each with a long line.
  @Test func manyLongLines() throws {
    let plan = try Plan((0..<600).flatMap { Array(repeating: "p\($0)@a", count: 70) })
    plan.full = Set((0..<600).map { "p\($0)" })
    #expect(try plan.all() == [])
    plan.full = []
    #expect(try plan.all().sorted() == Array(1...42_000))
  }

  /// A host that has just been asked for the first time is waited for, with two pages at hand.
  @Test func aHostThatIsAwaitedIsNotReadFarPast() throws {
    let plan = try Plan(Array(repeating: "p@new", count: 3000) + ["p@b"])
    plan.awaited = ["new"]
    #expect(try plan.all() == [])
    (plan.awaited, plan.shut) = ([], ["new"])
    #expect(try plan.all() == [3001])
    let short = try Plan(Array(repeating: "p@new", count: 300) + ["p@b"])
    short.awaited = ["new"]
    #expect(try short.all() == [301])
    short.awaited = []
    #expect(try short.all() == Array(1...300))
  }

  @Test func aHostThatShutsMeanwhileKeepsItsPlaces() throws {
    let plan = try Plan(["p@a", "p@a", "p@b", "p@a"])
    #expect(try plan.next() == 1)
    plan.shut = ["a"]
    #expect(try plan.all() == [3])
    plan.shut = []
    #expect(try plan.all() == [2, 4])
  }

  @Test func aPolicyThatIsHeldGivesBackItsOwn() throws {
    let plan = try Plan(["p@a", "q@a", "p@b"])
    plan.full = ["p", "q"]
    #expect(try plan.next() == nil)
    #expect(try plan.queue.remove(plan.group("p"), plan.ledger).map(\.seq).sorted() == [1, 3])
    plan.full = []
    #expect(try plan.all() == [2])
  }

  @Test func onlyWhatWasAskedFor() throws {
    let plan = try Plan(Array(repeating: "p@a", count: 12))
    plan.queue = TurnQueue(isSelective: true)
    let rows = try plan.ledger.rows(of: .only(IDPattern("t{1,10,11,12}")), continuing: nil) { _ in }
    _ = try plan.ledger.startRun(id: "01A", overrides: [:], selecting: rows, at: 1)
    #expect(try plan.all() == [1, 10, 11, 12])
    plan.queue.reset()
    #expect(try plan.next() == 1)
  }

  /// Who is no longer queued when the front of a long line is read again has no turn.
  @Test func aLongLineAsksAgainWhoWaits() throws {
    let plan = try Plan(Array(repeating: "p@dead", count: 3000) + ["q@a"])
    plan.shut = ["dead"]
    #expect(try plan.all() == [3001])
    plan.shut = []
    #expect(try plan.next() == 1)
    try plan.ledger.settleQueued(profile: 1, to: .canceled)
    #expect(try plan.all() == Array(2...512))
    #expect(plan.queue.isEmpty)
  }

  @Test func aLineKeepsItsOrder() throws {
    let plan = try Plan(Array(repeating: "p@a", count: 2000))
    let page = try plan.ledger.queued(after: 0, excluding: [], limit: 2000)
    var line = TurnLine()
    var found: [Int64] = []
    for transfer in page {
      line.append(transfer)
      if transfer.seq.isMultiple(of: 3), let first = try line.popFirst(plan.ledger.queued(among:)) {
        found.append(first.seq)
      }
    }
    #expect(line.count == 2000 - found.count)
    #expect(line.profiles == [1: line.count])
    while let first = try line.popFirst(plan.ledger.queued(among:)) { found.append(first.seq) }
    #expect(found == Array(1...2000))
  }
}
