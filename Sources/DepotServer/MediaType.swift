/// The media type that a file's name suggests.
enum MediaType {
  static let unknown = "application/octet-stream"

  private static let byExtension = [
    "7z": "application/x-7z-compressed", "avi": "video/x-msvideo", "bin": unknown,
    "bz2": "application/x-bzip2",
    "css": "text/css", "csv": "text/csv", "gif": "image/gif", "gz": "application/gzip", "htm": "text/html",
    "html": "text/html", "iso": "application/x-iso9660-image", "jpeg": "image/jpeg", "jpg": "image/jpeg",
    "js": "text/javascript", "json": "application/json", "md": "text/markdown", "mov": "video/quicktime",
    "mp3": "audio/mpeg", "mp4": "video/mp4", "parquet": "application/vnd.apache.parquet",
    "pdf": "application/pdf", "png": "image/png", "svg": "image/svg+xml", "tar": "application/x-tar",
    "txt": "text/plain", "wasm": "application/wasm", "wav": "audio/wav", "webm": "video/webm",
    "webp": "image/webp", "xml": "application/xml", "xz": "application/x-xz", "yaml": "application/yaml",
    "yml": "application/yaml", "zip": "application/zip", "zst": "application/zstd",
  ]

  static func of(_ name: String) -> String {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return unknown }
    return byExtension[name[name.index(after: dot)...].lowercased()] ?? unknown
  }

  /// Whether a client's media type can go into a header as it is.
  static func isValid(_ text: String) -> Bool {
    text.utf8.count <= 200 && text.contains("/") && text.utf8.allSatisfy { (32...126).contains($0) }
  }
}
