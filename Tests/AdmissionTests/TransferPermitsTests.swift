import Testing

@testable import Admission

struct TransferPermitsTests {
  enum Step: Sendable {
    case change(TransferPermits.Use?, TransferPermits.Use?)
    case cancel
    case otherBegins
    case otherEnds
    /// With the answer that is expected.
    case reacquire(Bool)
    case end
  }
  struct Row: Sendable, CustomStringConvertible {
    var description: String
    var steps: [Step]
    /// Whether another transfer has room after them, under a limit of one.
    var hasRoom: Bool
  }

  @Test(arguments: [
    Row(description: "it holds its permit", steps: [.reacquire(true)], hasRoom: false),
    Row(description: "and gives it back", steps: [.end], hasRoom: true),
    Row(description: "a request is sent", steps: [.change(nil, .working)], hasRoom: false),
    Row(
      description: "a request is over", steps: [.change(nil, .working), .change(.working, nil)],
      hasRoom: false
    ),
    Row(description: "all wait for their host", steps: [.change(nil, .suspended)], hasRoom: true),
    Row(
      description: "one waits, one is sent",
      steps: [.change(nil, .working), .change(nil, .suspended)],
      hasRoom: false),
    Row(
      description: "the one that was sent is over",
      steps: [.change(nil, .working), .change(nil, .suspended), .change(.working, nil)],
      hasRoom: true),
    Row(
      description: "reacquired",
      steps: [.change(nil, .suspended), .change(.suspended, .working), .reacquire(true)],
      hasRoom: false),
    Row(
      description: "others have it",
      steps: [
        .change(nil, .suspended), .otherBegins, .change(.suspended, .working), .reacquire(false),
      ],
      hasRoom: false),
    Row(
      description: "others gave it back",
      steps: [
        .change(nil, .suspended), .otherBegins, .reacquire(false), .otherEnds, .reacquire(true),
      ],
      hasRoom: false),
    Row(
      description: "cancelled, it needs none",
      steps: [.change(nil, .suspended), .otherBegins, .cancel, .reacquire(true), .otherEnds],
      hasRoom: true),
    Row(
      description: "over, it needs none",
      steps: [.change(nil, .suspended), .otherBegins, .end, .reacquire(true)],
      hasRoom: false),
    Row(
      description: "what comes after the end counts nowhere",
      steps: [.end, .change(nil, .working), .change(.working, .suspended), .end], hasRoom: true),
  ]) func use(_ row: Row) {
    var permits = TransferPermits()
    let own = permits.begin(1, group: 7, .transfers(1)).id
    var other: Int?
    for step in row.steps {
      switch step {
      case .change(let old, let new): permits.change(own, from: old, to: new)
      case .cancel: permits.cancel(own)
      case .otherBegins: other = permits.begin(2, group: 7, .transfers(1)).id
      case .otherEnds: if let other { permits.end(other) }
      case .reacquire(let expected): #expect(permits.reacquire(own) == expected)
      case .end: permits.end(own)
      }
    }
    #expect(permits.hasRoom(7, .transfers(1)) == row.hasRoom && permits.hasRoom(8, .transfers(1)))
  }

  /// Those who have its permit may wait for the buffers that it holds.
  @Test func buffersBringAPermitBack() {
    var permits = TransferPermits(most: 1)
    let first = permits.begin(1, group: 0, .transfers(1))
    permits.change(first.id, from: nil, to: .suspended)
    let second = permits.begin(2, group: 0, .transfers(1))
    #expect(!first.buffers.areHeld)
    let holding = first.buffers.hold()
    #expect(first.buffers.areHeld && !second.buffers.areHeld)
    permits.change(first.id, from: .suspended, to: .working)
    #expect(permits.reacquire(first.id) == false)
    #expect(permits.reacquire(first.id, holdsBuffers: first.buffers.areHeld) == true)
    #expect(permits.held == 2 && !permits.hasRoom(0, .transfers(2)))
    withExtendedLifetime(holding) { permits.end(first.id) }
    #expect(permits.held == 1)
  }

  @Test func buffersAreCountedUntilTheyGo() {
    let buffers = SharedBuffers()
    var holding = [buffers.hold(), buffers.hold()]
    holding.removeLast()
    #expect(buffers.areHeld)
    holding.removeAll()
    #expect(!buffers.areHeld)
  }

  @Test func theJobsLimitIsOfAllGroups() {
    var permits = TransferPermits(most: 2)
    let first = permits.begin(1, group: 0, .transfers(5)).id
    #expect(permits.hasRoom(1, .requests(5)))
    let second = permits.begin(2, group: 1, .requests(5)).id
    #expect(!permits.hasRoom(0, .transfers(5)) && !permits.hasRoom(2, .window(host: "http://h")))
    permits.change(first, from: nil, to: .suspended)
    #expect(permits.hasFreed && permits.hasRoom(2, .transfers(1)))
    let third = permits.begin(3, group: 2, .transfers(1)).id
    #expect(permits.reacquire(first) == false, "others have its permit")
    permits.end(third)
    #expect(permits.reacquire(first) == true)
    #expect(!permits.hasRoom(2, .transfers(1)))
    permits.end(second)
    #expect(permits.hasRoom(2, .transfers(1)))
  }

  @Test func whatComesFreeIsTold() {
    var permits = TransferPermits()
    let own = permits.begin(1, group: 0, .transfers(2)).id
    #expect(!permits.hasFreed && permits.hasRoom(0, .transfers(2)))
    permits.change(own, from: nil, to: .suspended)
    #expect(permits.takeFreed() == true)
    #expect(!permits.hasFreed)
  }
}
