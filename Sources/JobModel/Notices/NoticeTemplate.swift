/// A notice as the manifest writes it: what is sent when an event of a run comes.
package struct NoticeTemplate: Sendable, Hashable {
  package enum Action: Sendable, Hashable {
    case command([InterpolatedText])
    case webhook(url: Address, json: Body?, headers: [ExtraHeader<InterpolatedText>], sign: SecretReference?)
    case ping(Address)
  }
  package enum Address: Sendable, Hashable {
    case text(InterpolatedText)
    case secret(SecretReference)
  }
  package typealias Body = JSONTemplate

  package var event: NoticeEvent
  /// Among the notices of its event, from 1.
  package var index: Int
  package var action: Action

  package init(_ event: NoticeEvent, index: Int, _ action: Action) {
    self.event = event
    self.index = index
    self.action = action
  }

  /// Whether it is sent of an attempt that another runner's run made needless. A ping is not: a dead-man service would
  /// take its exit code 0 for the success of a run that did not happen.
  package var isSentOfSkipped: Bool {
    if case .ping = action { false } else { true }
  }

  /// What is sent, with all that is known at the moment of the event.
  ///
  /// - Parameter folder: where a command runs.
  package func message(_ values: NoticeValues, folder: String) -> NoticeMessage {
    switch action {
    case .command(let words):
      .command(words.map(values.text), variables: values.variables, folder: folder)
    case .webhook(let url, let json, let headers, let sign):
      .webhook(
        url: url.filled(values), body: (json?.filled(values.text) ?? values.json(event)).text,
        headers: headers.map { $0.map(values.text) }, sign: sign)
    case .ping(let url):
      .ping(
        url: url.filled(values),
        path: event == .start ? "/start" : values.exitCode.map { $0 == 0 ? "" : "/\($0)" } ?? "")
    }
  }
}

extension NoticeTemplate.Address {
  func filled(_ values: NoticeValues) -> TextOrSecret {
    switch self {
    case .text(let text): .text(values.text(text))
    case .secret(let secret): .secret(secret)
    }
  }
}
