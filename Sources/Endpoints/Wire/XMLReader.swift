import CExpat

/// Takes the events of an `XMLReader`.
protocol XMLReceiver: AnyObject {
  /// - Parameter name: without its namespace's prefix.
  func begin(_ name: String)
  func add(_ text: UnsafeRawBufferPointer)
  func end()
}

/// Reads one XML document by events.
///
/// Strangers write it: depth and number of elements are bounded, and a document type, which could declare entities, is
/// not read.
enum XMLReader {
  /// S3 nests five deep, WebDAV seven.
  private static let deepest = 32

  /// - Parameter most: elements that are read.
  /// - Returns: false where the bytes are not a well-formed document within the bounds.
  static func read(_ bytes: ArraySlice<UInt8>, most: Int, into receiver: any XMLReceiver) -> Bool {
    guard !bytes.isEmpty, let parser = XML_ParserCreate(nil) else { return false }
    defer { XML_ParserFree(parser) }
    let gate = Gate(parser, receiver, deepest: deepest, most: most)
    XML_SetUserData(parser, Unmanaged.passUnretained(gate).toOpaque())
    XML_SetElementHandler(
      parser, { data, name, _ in Gate.of(data).begin(name) }, { data, _ in Gate.of(data).end() })
    XML_SetCharacterDataHandler(parser) { Gate.of($0).add($1, count: $2) }
    XML_SetStartDoctypeDeclHandler(parser) { data, _, _, _, _ in Gate.of(data).stop() }
    let status = bytes.withUnsafeBytes { bytes in
      Int32(exactly: bytes.count).map { XML_Parse(parser, bytes.baseAddress, $0, 1) }
    }
    return withExtendedLifetime(gate) { status == XML_STATUS_OK }
  }

  /// Passes expat's events on within the bounds.
  private final class Gate {
    private let parser: XML_Parser
    private let receiver: any XMLReceiver
    private let (deepest, most): (Int, Int)
    private var (depth, count) = (0, 0)

    init(_ parser: XML_Parser, _ receiver: any XMLReceiver, deepest: Int, most: Int) {
      (self.parser, self.receiver, self.deepest, self.most) = (parser, receiver, deepest, most)
    }

    static func of(_ data: UnsafeMutableRawPointer?) -> Gate {
      guard let data else { preconditionFailure("set before the document is read") }
      return Unmanaged<Gate>.fromOpaque(data).takeUnretainedValue()
    }

    /// The document is then not well-formed.
    func stop() { XML_StopParser(parser, XML_Bool(XML_FALSE)) }

    func begin(_ name: UnsafePointer<XML_Char>?) {
      count += 1
      guard depth < deepest, count <= most, let name else { return stop() }
      depth += 1
      let text = String(cString: name)
      let local = text.utf8.lastIndex(of: UInt8(ascii: ":")).map {
        String(text[text.utf8.index(after: $0)...])
      }
      receiver.begin(local ?? text)
    }

    func add(_ text: UnsafePointer<XML_Char>?, count: Int32) {
      // What of the same buffer was read before the stop may still come.
      guard depth > 0 else { return }
      receiver.add(UnsafeRawBufferPointer(start: text, count: Int(count)))
    }

    func end() {
      guard depth > 0 else { return }
      depth -= 1
      receiver.end()
    }
  }
}
