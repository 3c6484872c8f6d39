import Foundation
import FoundationXML

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
    subscript(_ name: String) -> String? {
      children.first { $0.name == name }.map { $0.text.trimmingCharacters(in: .whitespacesAndNewlines) }
    }

    /// The text of the first child of that name, blanks included: a key may begin with one.
    func exact(_ name: String) -> String? { children.first { $0.name == name }?.text }

    func all(_ name: String) -> [Element] { children.filter { $0.name == name } }
  }

  /// The root element; nil where the bytes are no well-formed document.
  static func read(_ bytes: [UInt8]) -> Element? {
    // S3 may send blanks while it works, and only then the document.
    let start = bytes.firstIndex { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } ?? bytes.endIndex
    guard start < bytes.endIndex else { return nil }
    let document = withoutInnerProlog(bytes[start...])
    guard !hasDocumentType(document) else { return nil }
    let parser = XMLParser(data: Data(document))
    let builder = Builder()
    parser.delegate = builder
    return parser.parse() && !builder.isTooMuch ? builder.root : nil
  }

  /// Whether one stands before the root element.
  private static func hasDocumentType(_ bytes: ArraySlice<UInt8>) -> Bool {
    var rest = bytes
    while let mark = rest.firstIndex(of: UInt8(ascii: "<")) {
      rest = rest[mark...].dropFirst()
      let end: [UInt8]
      if rest.starts(with: "!--".utf8) {
        end = Array("-->".utf8)
      } else if rest.first == UInt8(ascii: "?") {
        end = Array("?>".utf8)
      } else {
        return rest.first == UInt8(ascii: "!")
      }
      while !rest.isEmpty, !rest.starts(with: end) { rest = rest.dropFirst() }
    }
    return false
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
    let mark = Array("<?xml".utf8)
    guard bytes.starts(with: mark), let end = bytes.firstIndex(of: UInt8(ascii: ">")) else { return bytes }
    let rest = bytes[(end + 1)...].drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
    return rest.starts(with: mark) ? rest : bytes
  }

  private final class Builder: NSObject, XMLParserDelegate {
    var root: Element?
    private(set) var isTooMuch = false
    private var open: [Element] = []
    private var count = 0

    func parser(
      _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
      attributes: [String: String]
    ) {
      count += 1
      guard open.count < XMLTree.deepest, count <= XMLTree.most else {
        isTooMuch = true
        return parser.abortParsing()
      }
      open.append(Element(name: name.split(separator: ":").last.map(String.init) ?? name))
    }

    func parser(_ parser: XMLParser, foundCharacters text: String) {
      guard !open.isEmpty, !isTooMuch else { return }
      open[open.count - 1].text += text
    }

    func parser(
      _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
    ) {
      guard !isTooMuch, let done = open.popLast() else { return }
      if open.isEmpty { root = done } else { open[open.count - 1].children.append(done) }
    }
  }
}
