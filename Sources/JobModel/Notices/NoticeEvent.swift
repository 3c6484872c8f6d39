/// What of a run is told to others (`on` in the manifest).
package enum NoticeEvent: String, Sendable, Hashable, CaseIterable {
  case start, success, incomplete, failure, end

  /// What is told of an attempt that ended so, in this order.
  ///
  /// - Parameter isSkipped: another runner had the job, and that was no failure: whether it goes well is for that one to say.
  package static func ending(with status: ExitStatus, isSkipped: Bool = false) -> [NoticeEvent] {
    if isSkipped { return [.end] }
    return switch status {
    case .success: [.success, .end]
    case .incomplete: [.incomplete, .end]
    default: [.failure, .end]
    }
  }
}
