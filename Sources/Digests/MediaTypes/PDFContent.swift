/// ISO 32000-1, 7.5.2 and 7.5.5: `%PDF-` first, `%%EOF` last; readers allow 1 KiB around both.
enum PDFContent {
  static func fault(in content: Content) throws -> String? {
    guard try content.bytes(at: 0, 1024).contains(pattern: "%PDF-") else {
      return "there is no %PDF- in its first 1024 bytes"
    }
    guard try content.tail(1024).contains(pattern: "%%EOF") else {
      return "there is no %%EOF in its last 1024 bytes (truncated?)"
    }
    return nil
  }
}
