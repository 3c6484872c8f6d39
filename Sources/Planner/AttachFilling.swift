internal import Endpoints
internal import JobModel

/// Puts what one entry of a fan-out says into its attach request; what is known only of the finished file stays open.
struct AttachFilling {
  private let entry: AttachEntry
  private let columns: [String]
  private let context: PlanContext

  init(_ entry: AttachEntry, columns: [String], _ context: PlanContext) {
    self.entry = entry
    self.columns = columns
    self.context = context
  }

  func filled(_ values: EntryValues) throws(EntryFault) -> AttachTemplate {
    var target = try text(entry.target.text.text, values)
    var name = ""
    switch entry.target.kind {
    case .remote(let endpoint): name = endpoint
    case .url, .local: break
    case .undecided:
      if case .remote(let endpoint) = try kind(of: target) {
        name = endpoint
        target = target.dropping(prefix: "\(endpoint):")
      }
    }
    guard let template = entry.templates[name] else {
      throw fault("the endpoint `\(name)` is not declared", "declare it under `endpoints`")
    }
    if name.isEmpty, let literal = target.literal {
      do throws(ValueFault) { _ = try URLRule.absolute(literal) } catch {
        throw fault(error.message, error.hint)
      }
    }
    if entry.target.text.text.dependsOnEntry, template.climbs(target.written) {
      throw fault("the address of `then` has `.` or `..` as a part of its path", nil)
    }
    var filled = try template.map { text throws(EntryFault) in try self.text(text, values) }
    filled.target = target
    for text in filled.headers.compactMap(\.text) {
      for case .literal(let literal) in text.parts where !HeaderSetting.isSafe(value: literal) {
        throw fault("a header of `then` has a line end or a control character", nil)
      }
    }
    return filled
  }

  private func kind(of target: InterpolatedText) throws(EntryFault) -> PlaceTemplate.Kind {
    let kind = PlaceTemplate.kind(of: target.literalPrefix, isWhole: target.literal != nil)
    switch kind {
    case .remote, .url: return kind
    case .local, .undecided:
      throw fault(
        "`\(target.written)` is not a remote place",
        "write NAME:PATH of a declared endpoint, or an absolute URL")
    }
  }

  /// The text with the entry's values; those of the run are put in when it is sent.
  private func text(_ text: InterpolatedText, _ values: EntryValues) throws(EntryFault) -> InterpolatedText {
    var filled = InterpolatedText("")
    for part in text.parts {
      switch part {
      case .literal(let literal): filled.append(literal: literal)
      case .reference(let reference):
        switch reference.name {
        case .column, .uuid, .source:
          let one = MarkedText(
            text: InterpolatedText(parts: [part]), mark: entry.target.text.mark,
            lineText: entry.target.text.lineText)
          filled.append(literal: try values.text(CompiledText(one, columns: columns)))
        case .runID, .runDate, .file, .id, .variable, .environment, .fact: filled.parts.append(part)
        }
      }
    }
    return filled
  }

  private func fault(_ message: String, _ hint: String?) -> EntryFault {
    EntryFault(message: message, hint: hint, place: .manifest(TextPlace(entry.target.text)))
  }
}
