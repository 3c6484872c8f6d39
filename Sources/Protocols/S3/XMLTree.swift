import Foundation
import FoundationXML

/// A small XML document as nested elements. Names count without their namespace's prefix.
struct XMLTree {
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
    let parser = XMLParser(data: Data(withoutInnerProlog(bytes[start...])))
    let builder = Builder()
    parser.delegate = builder
    return parser.parse() ? builder.root : nil
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
    private var open: [Element] = []

    func parser(
      _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
      attributes: [String: String]
    ) {
      open.append(Element(name: name.split(separator: ":").last.map(String.init) ?? name))
    }

    func parser(_ parser: XMLParser, foundCharacters text: String) {
      guard !open.isEmpty else { return }
      open[open.count - 1].text += text
    }

    func parser(
      _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
    ) {
      guard let done = open.popLast() else { return }
      if open.isEmpty { root = done } else { open[open.count - 1].children.append(done) }
    }
  }
}
