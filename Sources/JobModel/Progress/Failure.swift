/// What went wrong with one transfer, with the facts. `code` is for the user and the report, `class` for the engine.
package struct Failure: Error, Sendable, Hashable {
  package var code: ErrorCode
  package var message: String
  package var httpStatus: Int?
  /// Index of the chunk, where one is to blame.
  package var chunk: Int?
  package var expected: String?
  package var actual: String?
  /// Seconds that the server asked to wait.
  package var retryAfter: Double?
  /// No connection was made, whatever was to be asked: the host is not there, rather than one of its files.
  package var isUnconnected = false
  /// The largest chunks, in bytes, that a server takes which refused a larger one.
  package var chunkLimit: Int64?
  /// Indexes of the chunks that a server says it lacks.
  package var missingChunks: [Int] = []
  /// The class that the failure's maker gave it, where the code does not say it.
  private var given: FailureClass?

  package init(
    _ code: ErrorCode, _ message: String, class given: FailureClass? = nil, httpStatus: Int? = nil,
    chunk: Int? = nil, expected: String? = nil, actual: String? = nil, retryAfter: Double? = nil
  ) {
    self.code = code
    self.message = message
    self.given = given
    self.httpStatus = httpStatus
    self.chunk = chunk
    self.expected = expected
    self.actual = actual
    self.retryAfter = retryAfter
  }

  /// The host gave no answer at all.
  package var isSilence: Bool { httpStatus == nil && [.networkUnreachable, .timeout].contains(code) }

  package var `class`: FailureClass {
    get { given ?? FailureClass(code, httpStatus: httpStatus, chunk: chunk) }
    set { given = newValue }
  }

  /// The same failure, with the meaning that its place gives it.
  package func classed(_ meaning: FailureClass) -> Failure {
    var failure = self
    failure.class = meaning
    return failure
  }

  /// The failure where no session is open yet: none can be gone.
  package var beforeAnySession: Failure { `class` == .sessionGone ? classed(.permanent) : self }
}
