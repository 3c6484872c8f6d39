/// What a media type's content must look like at its head and its tail, so that a truncated file fails.
package enum MediaTypeRule: String, CaseIterable, Sendable {
  case pdf = "application/pdf"
  case zip = "application/zip"
  case jpeg = "image/jpeg"
  case png = "image/png"
  case mp4 = "video/mp4"

  /// What the content was found to be.
  package enum Outcome: Equatable, Sendable {
    case match
    case mismatch(reason: String)
  }

  /// A media type that has no rule.
  package struct Unsupported: Error, Equatable, CustomStringConvertible {
    package let type: String

    package init(type: String) {
      self.type = type
    }

    package var description: String {
      "there is no content rule for \(type); there are rules for "
        + MediaTypeRule.supported.joined(separator: ", ")
    }
  }

  /// The media types that have a rule, in order.
  package static var supported: [String] { allCases.map(\.rawValue) }

  /// The rule for a media type, written in any case.
  package init?(type: String) {
    self.init(rawValue: type.lowercased())
  }

  /// - Parameters:
  ///   - size: the content's length in bytes.
  ///   - read: gives `count` bytes at `offset`; only asked for what lies within `size`.
  /// - Throws: `Unsupported`, `ShortRead`, and what `read` throws.
  package static func check(
    type: String, size: Int64, read: (_ offset: Int64, _ count: Int) throws -> [UInt8]
  ) throws -> Outcome {
    guard let rule = Self(type: type) else { throw Unsupported(type: type) }
    return try rule.check(size: size, read: read)
  }

  package func check(
    size: Int64, read: (_ offset: Int64, _ count: Int) throws -> [UInt8]
  ) throws -> Outcome {
    try withoutActuallyEscaping(read) { read in
      let content = Content(size: size, read: read)
      let fault =
        switch self {
        case .pdf: try PDFContent.fault(in: content)
        case .zip: try ZIPContent.fault(in: content)
        case .jpeg: try JPEGContent.fault(in: content)
        case .png: try PNGContent.fault(in: content)
        case .mp4: try MP4Content.fault(in: content)
        }
      return fault.map { .mismatch(reason: "not a whole \(rawValue): \($0)") } ?? .match
    }
  }
}
