/// Times a transfer from its request's sending on: the first byte of the answer's body, and bytes that stop moving.
struct Watch {
  /// Whether the final answer's body has begun.
  private var isAnswering = false
  /// When the current wait began, and what had moved by then; nil before the request is sent.
  private var mark: (time: Double, moved: Int64)?

  /// Whether a request has been sent.
  var hasBegun: Bool { mark != nil }

  /// Connected and about to send, or told to go on.
  mutating func begin(_ now: Double) {
    mark = (now, mark?.moved ?? 0)
  }

  /// The first byte of the answer's body has come: from now on its speed counts.
  mutating func answer(_ now: Double) {
    guard !isAnswering else { return }
    isAnswering = true
    begin(now)
  }

  /// The time limit that has passed, if one has.
  /// - Parameters:
  ///   - moved: bytes of body so far, both ways.
  ///   - isSending: whether some of the request's body is still to be sent.
  mutating func fault(
    _ now: Double, moved: Int64, isSending: Bool, isPaused: Bool, _ options: CurlOptions
  ) -> CurlError.Phase? {
    guard let mark else { return nil }
    guard !isPaused else {
      self.mark = (now, moved)
      return nil
    }
    let waited = now - mark.time
    if isSending || isAnswering {
      guard let limit = options.stallTimeout else { return nil }
      if Double(moved - mark.moved) >= Double(options.stallBytesPerSecond) * limit {
        self.mark = (now, moved)
      } else if waited >= limit {
        return .stall
      }
      return nil
    }
    // The wait for the answer begins when the body has gone out.
    if moved != mark.moved { self.mark = (now, moved) }
    guard moved == mark.moved, let limit = options.firstByteTimeout else { return nil }
    return waited >= limit ? .firstByte : nil
  }
}
