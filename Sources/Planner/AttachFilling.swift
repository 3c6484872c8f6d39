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
    let (template, target) = try address(values)
    var filled = template
    filled.body = try filled.body?.map { text throws(EntryFault) in try self.text(text, values) }
    filled.headers = try filled.headers.map { one throws(EntryFault) in try header(one, values) }
    filled.target = target
    return filled
  }

  /// Of the body's texts and the headers, each by itself; `filled` throws the first fault alone.
  func faults(_ values: EntryValues) -> [EntryFault] {
    var found: [EntryFault] = []
    // Wherever it goes, it says the same.
    let template = entry.templates.first?.value
    for one in template?.body?.texts ?? [] {
      do throws(EntryFault) { _ = try text(one, values) } catch { found.append(error) }
    }
    for one in template?.headers ?? [] {
      do throws(EntryFault) { _ = try header(one, values) } catch { found.append(error) }
    }
    return found
  }

  private func address(
    _ values: EntryValues
  ) throws(EntryFault) -> (template: AttachTemplate, target: InterpolatedText) {
    let written = entry.target.text.text
    var target = try text(written, values)
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
      throw fault("the endpoint `\(name)` is not declared", "declare it under `endpoints`", in: written)
    }
    if let endpoint = context.job.endpoints[name], URLRule.schemeLength(endpoint.url) == nil {
      throw fault(
        "`then` speaks HTTP, and the endpoint `\(name)` does not",
        "name an endpoint whose `url` is http or https", in: written)
    }
    if name.isEmpty, let literal = target.literal {
      do throws(ValueFault) { _ = try URLRule.absolute(literal) } catch {
        throw fault(error.message, error.hint, in: written)
      }
    }
    if written.dependsOnEntry, template.climbs(target.written) {
      throw fault("the address of `then` has `.` or `..` as a part of its path", nil, in: written)
    }
    return (template, target)
  }

  private func header(
    _ header: ExtraHeader<InterpolatedText>, _ values: EntryValues
  ) throws(EntryFault) -> ExtraHeader<InterpolatedText> {
    let filled = try header.map { one throws(EntryFault) in try text(one, values) }
    for case .literal(let literal) in filled.text?.parts ?? [] where !HeaderSetting.isSafe(value: literal) {
      throw fault(
        "the header `\(header.name)` of `then` has a line end or a control character", nil,
        in: header.text ?? entry.target.text.text)
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
        "write NAME:PATH of a declared endpoint, or an absolute URL", in: entry.target.text.text)
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
          filled.append(literal: try values.text(compiled(InterpolatedText(parts: [part]))))
        case .runID, .runDate, .file, .id, .variable, .environment, .fact: filled.parts.append(part)
        }
      }
    }
    return filled
  }

  private func compiled(_ text: InterpolatedText) -> CompiledText {
    let written = entry.target.text
    return CompiledText(
      MarkedText(text: text, mark: written.mark, lineText: written.lineText), columns: columns)
  }

  /// A fault of what a row made of a text: at the first cell in it.
  private func fault(_ message: String, _ hint: String?, in text: InterpolatedText) -> EntryFault {
    EntryFault(message: message, hint: hint, place: Places.of(compiled(text)))
  }
}
