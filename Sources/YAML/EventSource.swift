internal import CYAML

/// One event of a YAML stream, in Swift's words.
struct YAMLEvent {
  enum Kind {
    case documentStart
    case alias(String)
    case scalar(YAMLScalar)
    case sequenceStart
    case mappingStart
    case containerEnd
    case streamEnd
    /// Stream start, document end: nothing to build from.
    case other
  }
  var kind: Kind
  var anchor: String?
  var tag: String?
  var mark: YAMLMark
  /// Bytes that it takes in a tree, roughly.
  var weight = 0
}

/// What libyaml says of a text that it refuses.
struct SyntaxFault: Error {
  var problem: String
  var mark: YAMLMark
  /// Where the construct began that could not be read.
  var contextMark: YAMLMark?
  /// Byte offset of a character that no YAML text may hold, where that is the problem.
  var offset: Int?
  /// Brackets were open where it was found.
  var isInFlow = false
}

/// libyaml's event parser over bytes that outlive it.
final class EventSource {
  private let parser: UnsafeMutablePointer<yaml_parser_t>
  private let isReady: Bool

  private let file: Int

  init(_ bytes: UnsafeBufferPointer<UInt8>, file: Int) {
    self.file = file
    parser = .allocate(capacity: 1)
    parser.initialize(to: yaml_parser_t())
    isReady = yaml_parser_initialize(parser) == 1
    guard isReady else { return }
    // No encoding is set: libyaml then skips a BOM, and other encodings were refused before.
    yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
  }

  deinit {
    if isReady { yaml_parser_delete(parser) }
    parser.deallocate()
  }

  func next() throws(SyntaxFault) -> YAMLEvent {
    guard isReady else { throw SyntaxFault(problem: "out of memory", mark: YAMLMark(line: 1, column: 1)) }
    var event = yaml_event_t()
    guard yaml_parser_parse(parser, &event) == 1 else { throw fault() }
    defer { yaml_event_delete(&event) }
    return translate(event)
  }

  private func fault() -> SyntaxFault {
    let state = parser.pointee
    let problem = state.problem.map { String(cString: $0) } ?? "the text can't be read"
    let context = state.context == nil ? nil : mark(state.context_mark)
    let isReader = state.error == YAML_READER_ERROR
    return SyntaxFault(
      problem: problem, mark: mark(state.problem_mark), contextMark: context,
      offset: isReader ? Int(state.problem_offset) : nil, isInFlow: state.flow_level > 0)
  }

  private func translate(_ event: yaml_event_t) -> YAMLEvent {
    let mark = self.mark(event.start_mark)
    switch event.type {
    case YAML_DOCUMENT_START_EVENT:
      return YAMLEvent(kind: .documentStart, mark: mark)
    case YAML_ALIAS_EVENT:
      return YAMLEvent(kind: .alias(text(event.data.alias.anchor) ?? ""), mark: mark)
    case YAML_SCALAR_EVENT:
      let data = event.data.scalar
      let value = String(
        decoding: UnsafeBufferPointer(start: data.value, count: Int(data.length)), as: UTF8.self)
      let tag = text(data.tag)
      let isPlain = data.style == YAML_PLAIN_SCALAR_STYLE && tag == nil
      return YAMLEvent(
        kind: .scalar(YAMLScalar(text: value, isPlain: isPlain)), anchor: text(data.anchor), tag: tag,
        mark: mark, weight: Int(data.length) + 16)
    case YAML_SEQUENCE_START_EVENT:
      let data = event.data.sequence_start
      return YAMLEvent(
        kind: .sequenceStart, anchor: text(data.anchor), tag: text(data.tag), mark: mark, weight: 16)
    case YAML_MAPPING_START_EVENT:
      let data = event.data.mapping_start
      return YAMLEvent(
        kind: .mappingStart, anchor: text(data.anchor), tag: text(data.tag), mark: mark, weight: 16)
    case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT:
      return YAMLEvent(kind: .containerEnd, mark: mark)
    case YAML_STREAM_END_EVENT:
      return YAMLEvent(kind: .streamEnd, mark: mark)
    default:
      return YAMLEvent(kind: .other, mark: mark)
    }
  }

  private func mark(_ mark: yaml_mark_t) -> YAMLMark {
    YAMLMark(file: file, line: Int(mark.line) + 1, column: Int(mark.column) + 1)
  }

  private func text(_ pointer: UnsafeMutablePointer<UInt8>?) -> String? {
    pointer.map { String(cString: $0) }
  }
}
