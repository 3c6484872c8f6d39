/// What is on record of a transfer's attach request.
package struct AttachRecord: Sendable, Hashable {
  package enum State: String, Sendable, Hashable, CaseIterable {
    /// It is sent until it is answered.
    case owed
    case attached
    /// The record behind the file refused it: the next run sends it again.
    case refused
  }

  /// What the receiver knows the request by, however often it comes.
  package var key: String
  /// Tells request and file from others.
  package var identity: String
  package var state = State.owed
  /// nil once it is answered as expected.
  package var request: AttachRequest?
  /// Requests that were made for it.
  package var tries = 0
  /// Of the last answer.
  package var status: Int?
  /// When the answer came, seconds since 1970.
  package var at: Double?

  package init(key: String, identity: String, request: AttachRequest?) {
    self.key = key
    self.identity = identity
    self.request = request
  }
}
