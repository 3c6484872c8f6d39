import CExpat
import JobModel

/// A small XML document as nested elements. Names count without their namespace's prefix.
///
/// Strangers write it: depth and number of elements are bounded, and a document type, which could declare entities, is
/// not read.
struct XMLTree {
  /// S3 nests five deep.
  private static let deepest = 32
  /// A page of a thousand keys has some ten thousand.
  private static let most = 200_000

  struct Element {
    var name: String
    var text = ""
    var children: [Element] = []

    /// The text of the first child of that name, trimmed.
    subscript(_ name: String) -> String? { exact(name)?.trimmed(\.isWhitespace) }

    /// The text of the first child of that name, blanks included: a key may begin with one.
    func exact(_ name: String) -> String? { children.first { $0.name == name }?.text }

    func all(_ name: String) -> [Element] { children.filter { $0.name == name } }
  }

  /// The root element; nil where the bytes are no well-formed document.
  static func read(_ bytes: [UInt8]) -> Element? {
    // S3 may send blanks while it works, and only then the document.
    let document = withoutInnerProlog(bytes.drop(while: isBlank))
    guard !document.isEmpty, let parser = XML_ParserCreate(nil) else { return nil }
    defer { XML_ParserFree(parser) }
    let builder = Builder(parser)
    XML_SetUserData(parser, Unmanaged.passUnretained(builder).toOpaque())
    XML_SetElementHandler(
      parser, { data, name, _ in Builder.of(data).begin(name) }, { data, _ in Builder.of(data).end() })
    XML_SetCharacterDataHandler(parser) { Builder.of($0).add($1, count: $2) }
    XML_SetStartDoctypeDeclHandler(parser) { data, _, _, _, _ in Builder.of(data).stop() }
    let status = document.withUnsafeBytes { bytes in
      Int32(exactly: bytes.count).map { XML_Parse(parser, bytes.baseAddress, $0, 1) }
    }
    return withExtendedLifetime(builder) { status == XML_STATUS_OK ? builder.root : nil }
  }

  /// What goes between tags.
  static func escape(_ text: String) -> String {
    var out = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": out += "&amp;"
      case "<": out += "&lt;"
      case ">": out += "&gt;"
      case "\"": out += "&quot;"
      case "'": out += "&apos;"
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out
  }

  /// S3 sends the prolog first and blanks behind it; others send both again before the document.
  private static func withoutInnerProlog(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let mark = "<?xml".utf8
    guard bytes.starts(with: mark), let end = bytes.firstIndex(of: UInt8(ascii: ">")) else { return bytes }
    let rest = bytes[(end + 1)...].drop(while: isBlank)
    return rest.starts(with: mark) ? rest : bytes
  }

  private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

  /// Takes expat's events.
  private final class Builder {
    private let parser: XML_Parser
    private(set) var root: Element?
    private var open: [Element] = []
    private var count = 0

    init(_ parser: XML_Parser) { self.parser = parser }

    static func of(_ data: UnsafeMutableRawPointer?) -> Builder {
      guard let data else { preconditionFailure("set before the document is read") }
      return Unmanaged<Builder>.fromOpaque(data).takeUnretainedValue()
    }

    /// The document is then not well-formed.
    func stop() { XML_StopParser(parser, XML_Bool(XML_FALSE)) }

    func begin(_ name: UnsafePointer<XML_Char>?) {
      count += 1
      guard open.count < XMLTree.deepest, count <= XMLTree.most, let name else { return stop() }
      let text = String(cString: name)
      open.append(Element(name: text.split(separator: ":").last.map(String.init) ?? text))
    }

    func add(_ text: UnsafePointer<XML_Char>?, count: Int32) {
      // What of the same buffer was read before the stop may still come.
      guard !open.isEmpty else { return }
      let bytes = UnsafeRawBufferPointer(start: text, count: Int(count))
      open[open.count - 1].text += String(decoding: bytes, as: UTF8.self)
    }

    func end() {
      guard let done = open.popLast() else { return }
      if open.isEmpty { root = done } else { open[open.count - 1].children.append(done) }
    }
  }
}
