import JobModel
import Testing

@testable import Transfers

/// What an end and a user's wish leave of the progress.
struct TransferEndTests {
  @Test(arguments: [
    (TransferEnd.finished, TransferEvent.cancel, false, true),
    (.settled(nil), .hold(.interrupted), false, true), (.skipped(.exists), .hold(.interrupted), false, true),
    (.failed(Failure(.timeout, "")), .hold(.interrupted), false, false),
    (.failed(Failure(.integrityMismatch, "")), .hold(.interrupted), true, true),
    (.stopped, .hold(.interrupted), false, false), (.stopped, .cancel, true, true),
    (.stopped, .retry(fromScratch: true), true, true), (.stopped, .retry(fromScratch: false), false, false),
  ])
  func ends(_ end: TransferEnd, _ event: TransferEvent, _ drops: Bool, _ isOver: Bool) {
    #expect(end.dropsProgress(event) == drops && end.isOver(event) == isOver)
  }

  @Test func aStopIsAnInterruptionUnlessToldOtherwise() {
    let flag = StopFlag()
    #expect(flag.event == .hold(.interrupted))
    flag.set(.cancel)
    #expect(flag.event == .cancel)
    // A signal or a policy's hours come between that and its end.
    flag.set(.hold(.window))
    #expect(flag.event == .cancel)
    flag.set(.pauseByUser)
    #expect(flag.event == .pauseByUser)
  }
}
