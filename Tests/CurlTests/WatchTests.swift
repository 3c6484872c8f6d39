import Testing

@testable import Curl

struct WatchTests {
  /// What has happened by a moment: seconds, bytes moved, still sending, answering, paused.
  typealias Look = (Double, Int64, Bool, Bool, Bool)

  @Test(
    arguments: [
      // Silence after the request.
      ([(9, 0, false, false, false), (10, 0, false, false, false)], CurlError.Phase.firstByte),
      // The clock runs from the last byte of the body.
      ([(9, 500, true, false, false), (11, 900, false, false, false), (20, 900, false, false, false)], nil),
      (
        [(9, 500, true, false, false), (11, 900, false, false, false), (21, 900, false, false, false)],
        .firstByte
      ),
      // Twenty seconds at 1000 a second are too slow by 1024.
      ([(19, 19_000, false, true, false), (20, 20_000, false, true, false)], .stall),
      (
        [
          (19, 19_000, false, true, false), (20, 20_480, false, true, false),
          (39, 20_480, false, true, false),
        ], nil
      ),
      // A pause of ours does not count.
      ([(19, 0, true, false, true), (38, 0, true, false, false)], nil),
      ([(19, 0, true, false, true), (39, 0, true, false, false)], .stall),
    ] as [([Look], CurlError.Phase?)])
  func `counts what must count`(looks: [Look], expected: CurlError.Phase?) {
    var options = CurlOptions()
    options.firstByteTimeout = 10
    options.stallTimeout = 20
    var watch = Watch()
    let before = watch.fault(1000, moved: 0, isSending: true, isPaused: false, options)
    #expect(before == nil, "nothing counts before the connection")
    watch.begin(0)
    var faults: [CurlError.Phase?] = []
    for (time, moved, isSending, isAnswering, isPaused) in looks {
      if isAnswering { watch.answer(0) }
      faults.append(watch.fault(time, moved: moved, isSending: isSending, isPaused: isPaused, options))
    }
    #expect(faults.last == .some(expected))
    #expect(faults.dropLast().allSatisfy { $0 == nil })
  }
}

struct AnswerWatchTests {
  /// The wait for the first byte counts for no stall: the speed is that of the body.
  @Test func `a late answer is not a slow one`() {
    var options = CurlOptions()
    options.firstByteTimeout = 60
    options.stallTimeout = 20
    var watch = Watch()
    watch.begin(0)
    func fault(_ now: Double, _ moved: Int64) -> CurlError.Phase? {
      watch.fault(now, moved: moved, isSending: false, isPaused: false, options)
    }
    #expect(fault(50, 0) == nil)
    watch.answer(50)
    #expect(fault(51, 10) == nil)
    watch.answer(69)
    #expect(fault(70, 10) == .stall, "only the first byte begins it")
  }
}

struct TimersTests {
  @Test func `gives what is due in the order of deadlines`() {
    var timers = Timers()
    let ids = (0..<500).map { _ in CurlRequestID() }
    let deadlines = ids.indices.map { Double(($0 * 7919) % 500) }
    for (id, deadline) in zip(ids, deadlines) { timers.add(id, at: deadline) { _ in } }
    for (index, id) in ids.enumerated() where index % 5 != 0 { #expect(timers.remove(id) != nil) }
    #expect(timers.remove(ids[1]) == nil)
    var left = Set(ids.indices.filter { $0 % 5 == 0 }.map { deadlines[$0] })
    for moment in stride(from: 0.0, to: 500, by: 1) {
      var due = 0
      while timers.takeDue(moment) != nil { due += 1 }
      #expect(due == (left.remove(moment) == nil ? 0 : 1))
    }
    #expect(left.isEmpty && timers.next == nil)
  }
}
