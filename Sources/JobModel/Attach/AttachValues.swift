/// What is known of a finished file when its attach request is written. What is not known is empty.
package struct AttachValues: Sendable, Hashable {
  package var id: String
  package var remoteID: String?
  package var version: String?
  package var etag: String?
  package var digests: [DigestAlgorithm: String]
  /// Bytes.
  package var size: Int64?
  package var contentType: String?
  package var path: String

  package init(id: String, path: String, digests: [DigestAlgorithm: String] = [:], size: Int64? = nil) {
    self.id = id
    self.path = path
    self.digests = digests
    self.size = size
  }

  package func text(_ fact: FileFact) -> String {
    switch fact {
    case .remoteID: remoteID ?? ""
    case .version: version ?? ""
    case .etag: etag ?? ""
    case .size: size.map { "\($0)" } ?? ""
    case .contentType: contentType ?? ""
    case .path: path
    case .digest(let algorithm): digests[algorithm] ?? ""
    }
  }

  /// The text with all put in.
  ///
  /// - Parameters:
  ///   - run: nil leaves the run's values as they are written.
  ///   - encode: what becomes of a value from outside of the manifest, besides its filters.
  package func text(
    _ text: InterpolatedText, run: RunValues?, encode: (String) -> String = { $0 }
  ) -> String {
    text.parts.map { part in
      switch part {
      case .literal(let literal): return literal
      case .reference(let reference):
        switch reference.name {
        case .runID, .runDate:
          guard let run else { return "${\(reference.name.text)}" }
          return Self.filtered(reference, reference.name == .runID ? run.id : run.date)
        case .file(let fact):
          let value = Self.filtered(reference, self.text(fact))
          return reference.filters.contains(.url) ? value : encode(value)
        case .id:
          let value = Self.filtered(reference, id)
          return reference.filters.contains(.url) ? value : encode(value)
        case .variable, .environment, .column, .uuid, .source, .fact: return ""
        }
      }
    }.joined()
  }

  /// The first value of the file that a text says and that is empty, as the manifest writes it without the braces.
  package func emptyFact(in text: InterpolatedText) -> String? {
    text.references.first { reference in
      guard case .file(let fact) = reference.name else { return false }
      return Self.filtered(reference, self.text(fact)).isEmpty
    }?.name.text
  }

  private static func filtered(_ reference: InterpolatedText.Reference, _ value: String) -> String {
    (try? reference.filtered(value, what: "")) ?? ""
  }
}
