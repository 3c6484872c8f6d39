/// An entry of `transfers`, with all levels merged; it stands for one transfer or for a fan-out.
package struct TransferTemplate: Sendable {
  package var id: String
  /// Where the id is written.
  package var mark: SourceMark
  package var lineText: String
  package var direction: Verb
  package var source: PlaceTemplate
  package var destination: PlaceTemplate
  package var fanOut: FanOut
  /// By the name of the remote side's endpoint; "" is an absolute URL's.
  package var settings: [String: TransferSettings]
  /// Of a copy, by the name of its source's endpoint, "" is an absolute URL's: settings of requests to it.
  package var sourceSettings: [String: TransferSettings] = [:]
  /// What the rows of a fan-out decide.
  package var rowSettings: [RowSetting]
  package var headers: [HeaderTemplate]
  /// As written; what the manifest alone decides is in `settings` too.
  package var needs: [MarkedText]
  package var expect: [ExpectationKey: MarkedText]
  /// Items of `metadata` and `tags` that the rows of a fan-out, or the run, decide.
  package var attributes: [AttributeTemplate] = []
  /// What the transfer itself gives its object, rather than `defaults`.
  package var ownGiven: Set<GivenKey> = []
  package var then: AttachEntry?

  package init(
    id: String, mark: SourceMark, lineText: String, direction: Verb, source: PlaceTemplate,
    destination: PlaceTemplate, fanOut: FanOut, settings: [String: TransferSettings],
    rowSettings: [RowSetting], headers: [HeaderTemplate], needs: [MarkedText],
    expect: [ExpectationKey: MarkedText]
  ) {
    self.id = id
    self.mark = mark
    self.lineText = lineText
    self.direction = direction
    self.source = source
    self.destination = destination
    self.fanOut = fanOut
    self.settings = settings
    self.rowSettings = rowSettings
    self.headers = headers
    self.needs = needs
    self.expect = expect
  }

  /// The side that is not local; of a copy, its destination.
  package var remote: PlaceTemplate { direction.writesRemote ? destination : source }
}

extension TransferTemplate {
  /// Left out, visibly: one transfer of the template's own id, whatever it would have become.
  package var isDisabled: Bool { !settings.values.contains(where: \.isEnabled) }

  /// Settings of requests to the source's endpoint.
  package func settings(ofSource name: String) -> TransferSettings? {
    direction == .copy ? sourceSettings[name] : settings[name]
  }
}

/// A text of the manifest with its place, for faults that show only when it is put to use.
package struct MarkedText: Sendable, Hashable {
  package var text: InterpolatedText
  package var mark: SourceMark
  package var lineText: String
  /// The text with values from the environment as they are written; nil where it has none, or differs from entry to entry.
  package var written: String?

  package init(text: InterpolatedText, mark: SourceMark, lineText: String) {
    self.text = text
    self.mark = mark
    self.lineText = lineText
  }
}

/// A setting whose value stands in the rows.
package struct RowSetting: Sendable, Hashable {
  package var setting: ScalarSetting
  package var value: MarkedText

  package init(setting: ScalarSetting, value: MarkedText) {
    self.setting = setting
    self.value = value
  }
}
