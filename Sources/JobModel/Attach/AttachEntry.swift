/// `then` of an entry of `transfers`, with all levels merged.
package struct AttachEntry: Sendable {
  /// Where the request goes, as far as the manifest alone tells.
  package var target: PlaceTemplate
  /// All of it that may say something, each with its place.
  package var texts: [MarkedText]
  /// By the endpoint that the request goes to; "" is a URL's. Where rows decide that, there are several.
  package var templates: [String: AttachTemplate]

  package init(target: PlaceTemplate, texts: [MarkedText], templates: [String: AttachTemplate]) {
    self.target = target
    self.texts = texts
    self.templates = templates
  }

  /// The request of every entry; nil where each has its own.
  package var common: AttachTemplate? {
    let isOfEntry = texts.contains { $0.text.dependsOnEntry } || target.kind == .undecided
    return isOfEntry ? nil : templates.first?.value
  }
}
