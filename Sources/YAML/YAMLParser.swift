/// Reads one YAML document into a tree with places.
package enum YAMLParser {
  /// Faults that leave a tree (a duplicate key, a second document) are reported beside it.
  ///
  /// - Parameter file: what each place of the text has as its `file`.
  package static func parse(
    _ bytes: [UInt8], file: Int = 0, limits: YAMLLimits = YAMLLimits()
  ) -> YAMLDocument {
    var document = parse(bytes, limits, file)
    for index in document.faults.indices { document.faults[index].mark.file = file }
    return document
  }

  private static func parse(_ bytes: [UInt8], _ limits: YAMLLimits, _ file: Int) -> YAMLDocument {
    if let fault = TextEncoding.fault(in: bytes) { return YAMLDocument(root: nil, faults: [fault]) }
    return bytes.withUnsafeBufferPointer { buffer in
      let source = EventSource(buffer, file: file)
      var builder = TreeBuilder(limits: limits)
      do {
        while true {
          let event = try source.next()
          if case .streamEnd = event.kind { break }
          // A second document is one fault, whatever it holds.
          guard try builder.take(event) else { break }
        }
        return YAMLDocument(root: builder.root, faults: builder.faults)
      } catch let fault as SyntaxFault {
        let explained = SyntaxExplanation(text: String(decoding: buffer, as: UTF8.self)).explain(fault)
        return YAMLDocument(root: nil, faults: builder.faults + [explained])
      } catch let fault as YAMLFault {
        return YAMLDocument(root: nil, faults: builder.faults + [fault])
      } catch {
        return YAMLDocument(root: nil, faults: builder.faults)
      }
    }
  }
}
