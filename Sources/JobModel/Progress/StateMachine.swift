/// What can happen to a transfer.
package enum TransferEvent: Sendable, Hashable {
  /// A permit is free and the transfer's turn has come.
  case start
  case finish
  /// Nothing had to be moved.
  case settle(TransferState.UpToDateReason?)
  case fail(ErrorCode)
  /// A completed file can't be brought to the disk.
  case lose(ErrorCode)
  /// Something outside the transfer holds it: a signal, its policy's hours, a full disk.
  case hold(TransferState.PauseReason)
  case await(TransferState.QueuedReason)
  case skip(TransferState.SkipReason)
  case pauseByUser
  case resumeByUser
  case cancel
  /// `haul retry`, from the recorded progress or from nothing.
  case retry(fromScratch: Bool)
  /// The next attempt of a stopped run begins.
  case newAttempt
  /// All that had no turn in the run yet has had it: what failed in its earlier attempts follows.
  case tryAgain
  /// A new run begins.
  case newRun
  /// What is complete is to be looked at once more before it counts.
  case reopen
}

/// What the engine has to do when a transition is taken, after it is recorded.
package enum TransferAction: Sendable, Hashable {
  /// Stop the requests in flight.
  case stopRequests
  /// Forget what was recorded: chunks, session, part file.
  case dropProgress
}

/// The one state machine of transfers: an event in, the next state and actions out; nil where the event does
/// not apply and changes nothing.
package enum StateMachine {
  package static func next(
    _ state: TransferState, _ event: TransferEvent
  ) -> (state: TransferState, actions: [TransferAction])? {
    switch (state, event) {
    // A turn is given only to what waits for one.
    case (.queued, .start): (.running, [])
    case (.running, .start), (.paused, .start), (.completed, .start), (.upToDate, .start), (.failed, .start),
      (.canceled, .start), (.skipped, .start):
      nil

    case (.running, .finish): (.completed, [])
    case (.queued, .finish), (.paused, .finish), (.completed, .finish), (.upToDate, .finish),
      (.failed, .finish),
      (.canceled, .finish), (.skipped, .finish):
      nil

    case (.running, .settle(let reason)): (.upToDate(reason), [])
    case (.queued, .settle), (.paused, .settle), (.completed, .settle), (.upToDate, .settle),
      (.failed, .settle),
      (.canceled, .settle), (.skipped, .settle):
      nil

    case (.running, .fail(let code)):
      if code.isRetryable {
        (.paused(code == .diskFull ? .disk : .retries), [])
      } else {
        (.failed, code.partial == .dropped ? [.dropProgress] : [])
      }
    case (.queued, .fail), (.paused, .fail), (.completed, .fail), (.upToDate, .fail), (.failed, .fail),
      (.canceled, .fail), (.skipped, .fail):
      nil

    case (.completed, .lose(let code)), (.upToDate, .lose(let code)):
      (code == .diskFull ? .paused(.disk) : .failed, [])
    case (.queued, .lose), (.running, .lose), (.paused, .lose), (.failed, .lose), (.canceled, .lose),
      (.skipped, .lose):
      nil

    case (.running, .hold(let reason)): (.paused(reason), [.stopRequests])
    case (.queued, .hold(let reason)): (.paused(reason), [])
    case (.paused, .hold), (.completed, .hold), (.upToDate, .hold), (.failed, .hold), (.canceled, .hold),
      (.skipped, .hold):
      nil

    case (.queued, .await(let reason)): (.queued(reason), [])
    case (.running, .await), (.paused, .await), (.completed, .await), (.upToDate, .await), (.failed, .await),
      (.canceled, .await), (.skipped, .await):
      nil

    case (.queued, .skip(let reason)), (.running, .skip(let reason)), (.paused, .skip(let reason)):
      (.skipped(reason), [])
    case (.completed, .skip), (.upToDate, .skip), (.failed, .skip), (.canceled, .skip), (.skipped, .skip): nil

    case (.queued, .pauseByUser), (.paused, .pauseByUser): (.paused(.user), [])
    case (.running, .pauseByUser): (.paused(.user), [.stopRequests])
    // The next run would try it again; what the manifest disables it does not.
    case (.skipped(.disabled), .pauseByUser): nil
    case (.failed, .pauseByUser), (.canceled, .pauseByUser), (.skipped, .pauseByUser): (.paused(.user), [])
    case (.completed, .pauseByUser), (.upToDate, .pauseByUser): nil

    case (.paused, .resumeByUser): (.queued(nil), [])
    case (.queued, .resumeByUser), (.running, .resumeByUser), (.completed, .resumeByUser),
      (.upToDate, .resumeByUser), (.failed, .resumeByUser), (.canceled, .resumeByUser),
      (.skipped, .resumeByUser):
      nil

    case (.queued, .cancel), (.paused, .cancel): (.canceled, [.dropProgress])
    case (.running, .cancel): (.canceled, [.stopRequests, .dropProgress])
    // A failed upload may still hold a session, which `cancel` is the way to end.
    case (.failed, .cancel): (.canceled, [.dropProgress])
    case (.completed, .cancel), (.upToDate, .cancel), (.canceled, .cancel), (.skipped, .cancel): nil

    // Only the manifest enables it again.
    case (.skipped(.disabled), .retry): nil
    case (.queued, .retry(let fresh)), (.paused, .retry(let fresh)), (.failed, .retry(let fresh)),
      (.canceled, .retry(let fresh)), (.skipped, .retry(let fresh)):
      (.queued(nil), fresh ? [.dropProgress] : [])
    case (.completed, .retry(let fresh)), (.upToDate, .retry(let fresh)):
      fresh ? (.queued(nil), [.dropProgress]) : nil
    case (.running, .retry(let fresh)): fresh ? (.queued(nil), [.stopRequests, .dropProgress]) : nil

    case (.queued, .newAttempt): (.queued(nil), [])
    case (.running, .newAttempt): (.queued(nil), [])
    case (.paused(.user), .newAttempt), (.paused(.retries), .newAttempt): nil
    case (.paused, .newAttempt): (.queued(nil), [])
    case (.completed, .newAttempt), (.upToDate, .newAttempt), (.failed, .newAttempt),
      (.canceled, .newAttempt),
      (.skipped, .newAttempt):
      nil

    case (.failed, .tryAgain), (.paused(.retries), .tryAgain), (.skipped(.needs), .tryAgain):
      (.queued(nil), [])
    case (.queued, .tryAgain), (.running, .tryAgain), (.paused, .tryAgain), (.completed, .tryAgain),
      (.upToDate, .tryAgain), (.canceled, .tryAgain), (.skipped, .tryAgain):
      nil

    // Left out by the manifest, or held by the user: a run changes neither.
    case (.paused(.user), .newRun), (.skipped(.disabled), .newRun): nil
    case (.queued, .newRun), (.running, .newRun), (.paused, .newRun), (.completed, .newRun),
      (.upToDate, .newRun),
      (.failed, .newRun), (.canceled, .newRun), (.skipped, .newRun):
      (.queued(nil), [])

    case (.completed, .reopen), (.upToDate, .reopen): (.queued(nil), [])
    case (.queued, .reopen), (.running, .reopen), (.paused, .reopen), (.failed, .reopen),
      (.canceled, .reopen),
      (.skipped, .reopen):
      nil
    }
  }
}
