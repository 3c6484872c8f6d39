import JobModel

/// A small XML document as nested elements. Names count without their namespace's prefix.
struct XMLTree {
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
    let builder = Builder()
    return XMLReader.read(document, most: most, into: builder) ? builder.root : nil
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

  private final class Builder: XMLReceiver {
    private(set) var root: Element?
    private var open: [Element] = []

    func begin(_ name: String) { open.append(Element(name: name)) }

    func add(_ text: UnsafeRawBufferPointer) {
      open[open.count - 1].text += String(decoding: text, as: UTF8.self)
    }

    func end() {
      guard let done = open.popLast() else { return }
      if open.isEmpty { root = done } else { open[open.count - 1].children.append(done) }
    }
  }
}
