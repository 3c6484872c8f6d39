import Endpoints
import Foundation
import JobLedger
import JobModel
import LocalFiles
import Preview
import TestSupport
import Testing

/// What a run would do with a transfer, by what is on record and what lies on the disk.
struct TransferPreviewTests {
  private let scratch: Scratch
  private let folder: Folder

  init() throws {
    scratch = try Scratch()
    folder = try Folder.open(scratch.path)
  }

  /// A transfer of a plan, as it is before its first attempt.
  private func planned(
    _ direction: Verb, _ change: (inout LedgerTransfer) -> Void = { _ in }
  ) throws -> LedgerTransfer {
    let ledger = try JobLedger(
      folder: scratch.folder("state-\(UInt32.random(in: 0 ... .max))"), mayMigrate: true)
    let entry = PlannedTransfer(
      id: "t", source: Place(direction == .download ? "https://h/file" : "file"),
      destination: Place(direction == .download ? "file" : "https://h/file"), destinationIdentity: "file",
      settings: TransferSettings(direction: direction), expect: JobModel.Expectation(),
      mark: SourceMark(file: "job", line: 1, column: 1), takesSourceName: false)
    _ = try ledger.compile { add in try add(entry, [UInt8](repeating: 1, count: 8)) }
    var transfer = try #require(try ledger.transfer(1))
    change(&transfer)
    return transfer
  }

  private func preview(
    _ transfer: LedgerTransfer, remote: RemoteObject? = nil, isNewRun: Bool = true,
    wrote: (FileFacts, String) -> Bool = { _, _ in false }
  ) -> TransferPreview {
    TransferPreview.of(
      transfer, folder: folder, endpoints: [:], word: ServerWord(source: remote), isNewRun: isNewRun,
      wrote: wrote)
  }

  private func preview(_ transfer: LedgerTransfer, _ word: ServerWord) -> TransferPreview {
    TransferPreview.of(transfer, folder: folder, endpoints: [:], word: word, isNewRun: true)
  }

  private func write(_ text: String) throws -> FileFacts {
    try scratch.write("file", text)
    return try folder.reading("file").facts()
  }

  /// A completed download whose file lies there as it was left.
  private func completed(_ change: (inout LedgerTransfer) -> Void = { _ in }) throws -> LedgerTransfer {
    let facts = try write("as it was left")
    return try planned(.download) {
      $0.state = .completed
      $0.progress.completedAt = 1
      $0.progress.size = facts.size
      $0.progress.destination = facts
      $0.progress.remote.etag = "\"1\""
      $0.progress.remote.size = facts.size
      change(&$0)
    }
  }

  @Test(arguments: [
    (TransferState.queued(nil), true, TransferPreview.Action.transfer, nil as String?),
    (.skipped(.disabled), true, .skip, "disabled"),
    (.paused(.user), true, .skip, "user"),
    (.paused(.retries), true, .transfer, nil),
    (.canceled, false, .skip, "canceled"), (.canceled, true, .transfer, nil),
    (.skipped(.exists), false, .skip, "exists"), (.skipped(.exists), true, .transfer, nil),
    (.completed, false, .upToDate, nil), (.upToDate(nil), false, .upToDate, nil),
    (.failed, false, .transfer, nil),
  ])
  func statesOfADownload(
    _ state: TransferState, _ isNewRun: Bool, _ action: TransferPreview.Action, _ reason: String?
  ) throws {
    let transfer = try planned(.download) {
      $0.state = state
      $0.settings.isEnabled = state != .skipped(.disabled)
    }
    let preview = preview(transfer, isNewRun: isNewRun)
    #expect(preview.action == action && preview.reason == reason)
  }

  @Test func aCompletedDownloadStands() throws {
    let preview = preview(try completed())
    #expect(preview.action == .upToDate && preview.reason == "as recorded; the server was not asked")
  }

  /// The manifest decides, and not the state that is on record until the next run compiles.
  @Test func aCompletedDownloadThatIsDisabledNow() throws {
    let off = preview(try completed { $0.settings.isEnabled = false }, isNewRun: false)
    #expect(off.action == .skip && off.reason == "disabled")
    #expect(preview(try completed { $0.state = .skipped(.disabled) }).action == .upToDate, "enabled again")
  }

  @Test func anotherVersionIsFetched() throws {
    var seen = RemoteObject()
    (seen.etag, seen.size) = ("\"2\"", 14)
    #expect(preview(try completed(), remote: seen).action == .transfer)
    seen.etag = "\"1\""
    #expect(preview(try completed(), remote: seen).action == .upToDate)
  }

  @Test func anotherSizeInTheListingIsFetched() throws {
    let other = preview(try completed(), ServerWord(listedSize: 22))
    #expect(other.action == .transfer && other.reason == "the source has changed" && other.size == 22)
    let transfer = try completed()
    let same = preview(transfer, ServerWord(listedSize: transfer.progress.size))
    #expect(same.action == .upToDate)
    let probed = preview(transfer, ServerWord(source: transfer.progress.remote, listedSize: 22))
    #expect(probed.action == .upToDate, "a later answer says more")
    #expect(
      preview(try completed { $0.settings.refresh = .never }, ServerWord(listedSize: 22)).action == .upToDate)
  }

  /// What `expect` names is compared at every level: the source is not asked.
  @Test(arguments: [VerifyLevel.available, .size]) func whatIsExpectedStands(_ level: VerifyLevel) throws {
    var seen = RemoteObject()
    (seen.etag, seen.size) = ("\"2\"", 14)
    let transfer = try completed {
      $0.settings.verify = level
      $0.expect = JobModel.Expectation(digests: [.sha256: "00"])
    }
    #expect(preview(transfer, remote: seen).action == .upToDate)
  }

  /// What the manifest demands by now is not what is on record.
  @Test(arguments: [RefreshRule.changed, .never]) func anotherExpectationIsFetched(_ rule: RefreshRule) throws
  {
    let transfer = try completed {
      $0.settings.refresh = rule
      $0.progress.digests = [.sha256: "00"]
      $0.expect = JobModel.Expectation(digests: [.sha256: "11"])
    }
    let preview = preview(transfer)
    #expect(preview.action == .transfer && preview.reason == "`expect` says something else")
  }

  @Test func withoutAVersionItIsFetchedAgain() throws {
    let preview = preview(try completed { $0.progress.remote.etag = nil })
    #expect(preview.action == .transfer)
    #expect(preview.reason == "the server tells no version of it: it is fetched again")
  }

  /// The same bytes by a digest that the server tells, under another tag, or of a source that was never asked.
  @Test(arguments: [true, false]) func theSameBytesAreNotFetchedAgain(_ wasAsked: Bool) throws {
    let transfer = try completed {
      if !wasAsked { $0.progress.remote = RemoteObject() }
      $0.progress.digests = [.sha256: "00"]
    }
    var seen = RemoteObject()
    (seen.etag, seen.digests) = ("\"2\"", [.sha256: "00"])
    #expect(preview(transfer, remote: seen).action == .upToDate)
    seen.digests = [.sha256: "11"]
    #expect(preview(transfer, remote: seen).action == .transfer)
    #expect(preview(transfer).action == (wasAsked ? .upToDate : .unknown))
  }

  @Test func aChangedFileIsFetchedAgain() throws {
    let transfer = try completed()
    _ = try write("somebody else's words")
    let preview = preview(transfer)
    #expect(preview.action == .transfer && preview.reason == "the destination is not as it was left")
  }

  @Test func neverAsksOnlyForTheFile() throws {
    let transfer = try completed { $0.settings.refresh = .never }
    _ = try write("somebody else's words")
    #expect(preview(transfer).action == .upToDate)
  }

  @Test(arguments: [
    (ExistsRule.replace, TransferPreview.Action.transfer, nil as String?), (.keep, .skip, "exists"),
    (.fail, .unknown, "DESTINATION_EXISTS"),
  ])
  func aFileOfSomebodyElse(_ rule: ExistsRule, _ action: TransferPreview.Action, _ reason: String?) throws {
    _ = try write("somebody else's")
    let preview = preview(try planned(.download) { $0.settings.ifExists = rule })
    #expect(preview.action == action && preview.reason == reason)
  }

  /// Its own until it is replaced, also once it is canceled or begun anew; and what one that left put there.
  @Test(arguments: [ExistsRule.keep, .fail]) func aFileOfTheJob(_ rule: ExistsRule) throws {
    let anew = try completed {
      $0.state = .queued(nil)
      $0.progress.completedAt = nil
      $0.settings.ifExists = rule
    }
    #expect(preview(anew).action == .transfer && preview(anew).reason == nil)
    let facts = try write("one that left")
    let new = try planned(.download) { $0.settings.ifExists = rule }
    let other = preview(new, wrote: { $0.inode == facts.inode && $1 == "file" })
    #expect(other.action == .transfer && other.reason == nil)
  }

  @Test func whatIsBegunIsResumed() throws {
    let preview = preview(
      try planned(.download) {
        $0.settings.chunkSize = .bytes(1000)
        ($0.progress.size, $0.progress.chunksCompleted, $0.hasChunks) = (2500, 1, true)
      })
    #expect(preview.action == .resume && preview.size == 2500)
    #expect(preview.chunks == 3 && preview.chunkSize == 1000)
    // Bytes of its first chunk are there.
    let first = try planned(.download) { ($0.progress.size, $0.hasChunks) = (2500, true) }
    #expect(self.preview(first).action == .resume)
  }

  @Test func uploads() throws {
    let missing = preview(try planned(.upload))
    #expect(missing.action == .transfer && missing.reason == "the source is missing")
    let facts = try write("new")
    #expect(preview(try planned(.upload)).size == 3)
    let sent = try planned(.upload) {
      $0.state = .completed
      ($0.progress.completedAt, $0.progress.source) = (1, facts)
    }
    #expect(preview(sent).action == .upToDate)
    _ = try write("changed")
    let changed = preview(sent)
    #expect(changed.action == .transfer && changed.reason == "the source has changed")
  }
}

extension TransferPreviewTests {
  /// What the last attempt, or a probe, could not see is not said to be as it was.
  @Test func whatFailedIsNoWordOfBeingUpToDate() throws {
    func failed(_ change: (inout LedgerTransfer) -> Void = { _ in }) throws -> LedgerTransfer {
      try completed {
        ($0.state, $0.progress.failure) = (.failed, Failure(.notFound, "gone"))
        change(&$0)
      }
    }
    let unasked = preview(try failed())
    #expect(unasked.action == .unknown && unasked.reason == "NOT_FOUND")
    let back = try failed()
    #expect(preview(back, remote: back.progress.remote).action == .upToDate)
    let probed = preview(try completed(), ServerWord(trouble: .forbidden))
    #expect(probed.action == .unknown && probed.reason == "FORBIDDEN")
    let pinned = preview(try failed { $0.expect.digests = [.sha256: "d"] }, ServerWord(trouble: .notFound))
    #expect(pinned.action == .upToDate, "its source is not asked")
    let disabled = preview(try completed { $0.settings.isEnabled = false }, ServerWord(trouble: .notFound))
    #expect(disabled.action == .skip && disabled.reason == "disabled")
  }

  /// What is complete under a `verify` that demanded less is looked at.
  @Test func whatIsNotProvedYet() throws {
    let size = Verification("size", .server, .match)
    let sent = try completed {
      ($0.settings.verify, $0.progress.verification) = (.required, [size])
    }
    #expect(preview(sent).action == .unknown)
    var proved = sent
    proved.progress.verification.append(Verification("sha256", .server, .match))
    #expect(preview(proved).action == .upToDate)
    var expected = sent
    expected.expect.digests = [.sha256: "d"]
    #expect(preview(expected).action == .upToDate)
  }

  @Test func whatStandsAtAnUploadsDestination() throws {
    let facts = try write("sent")
    let sent = try planned(.upload) {
      ($0.state, $0.progress.completedAt, $0.progress.source) = (.completed, 1, facts)
      ($0.progress.size, $0.progress.remote.etag) = (4, "\"1\"")
    }
    func seen(_ size: Int64, _ etag: String) -> ServerWord {
      var object = RemoteObject()
      (object.size, object.etag) = (size, etag)
      return ServerWord(destination: .object(object))
    }
    let same = preview(sent, seen(4, "\"1\""))
    #expect(same.action == .upToDate && same.reason == nil)
    for word in [seen(5, "\"1\""), seen(4, "\"2\"")] {
      let other = preview(sent, word)
      #expect(other.action == .transfer && other.reason == "the destination is not as it was left")
    }
    let gone = preview(sent, ServerWord(destination: .nothing))
    #expect(gone.action == .transfer && gone.reason == "the destination is missing")
    let hidden = preview(sent, ServerWord(destination: .hidden(Failure(.forbidden, "no"))))
    #expect(hidden.action == .upToDate && hidden.reason == "as recorded; the server was not asked")
  }

  /// What is left of it, or comes anew, is told; not where it is on record.
  @Test func attaches() throws {
    let then = AttachTemplate(.post, endpoint: "api", target: InterpolatedText("r"))
    func attached(_ state: AttachRecord.State, identity: String) -> (inout LedgerTransfer) -> Void {
      { transfer in
        transfer.settings.then = then
        transfer.progress.attach = AttachRecord(key: "k", identity: identity, request: nil)
        transfer.progress.attach?.state = state
      }
    }
    func action(_ change: (inout LedgerTransfer) -> Void) throws -> TransferPreview.Action {
      preview(try completed(change)).action
    }
    let known = try completed { $0.settings.then = then }
    let identity = try #require(try? then.request(known.attachValues(known.progress), run: nil)).identity(
      of: known.progress)
    #expect(try action { $0.settings.then = then } == .attach, "newly said")
    #expect(try action(attached(.attached, identity: identity)) == .upToDate)
    #expect(try action(attached(.attached, identity: "another")) == .attach, "said otherwise")
    #expect(try action(attached(.refused, identity: identity)) == .attach)
    #expect(try action(attached(.owed, identity: identity)) == .attach)
    let gone = try completed(attached(.owed, identity: identity))
    try FileManager.default.removeItem(atPath: folder.path + "/file")
    #expect(preview(gone).action == .transfer, "the file has to come first")
  }

  /// An upload is sent again before it is tied where its source is a newer one.
  @Test func attachesOfUploads() throws {
    let sent = try write("as it was sent")
    let owed = try planned(.upload) { transfer in
      (transfer.state, transfer.progress.completedAt, transfer.progress.source) = (.failed, 1, sent)
      transfer.settings.then = AttachTemplate(.post, endpoint: "api", target: InterpolatedText("r"))
      transfer.progress.attach = AttachRecord(key: "k", identity: "i", request: nil)
    }
    #expect(preview(owed).action == .attach)
    _ = try write("a newer one")
    #expect(preview(owed).action == .transfer && preview(owed).reason == "the source has changed")
    try FileManager.default.removeItem(atPath: scratch.path + "/file")
    #expect(preview(owed).action == .attach)
    var inherited = owed
    inherited.progress.source?.inode = 0
    #expect(preview(inherited).action == .transfer && preview(inherited).reason == "the source is missing")
  }
}
