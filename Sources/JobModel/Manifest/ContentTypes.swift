/// Media types by file extension, for uploads that do not say theirs (IANA's registry, the common ones).
package enum ContentTypes {
  package static func of(_ path: String) -> String {
    // By bytes: both marks are ASCII, and few names have an extension to look up.
    let bytes = path.utf8
    let start = bytes.lastIndex(of: UInt8(ascii: "/")).map(bytes.index(after:)) ?? bytes.startIndex
    guard let dot = bytes[start...].lastIndex(of: UInt8(ascii: ".")), dot > start else { return fallback }
    return table[path[bytes.index(after: dot)...].lowercased()] ?? fallback
  }

  private static let fallback = "application/octet-stream"

  private static let table: [String: String] = [
    "7z": "application/x-7z-compressed", "avi": "video/x-msvideo", "avif": "image/avif", "bmp": "image/bmp",
    "bz2": "application/x-bzip2", "css": "text/css", "csv": "text/csv", "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "flac": "audio/flac",
    "gif": "image/gif", "gz": "application/gzip", "heic": "image/heic", "htm": "text/html",
    "html": "text/html",
    "jpeg": "image/jpeg", "jpg": "image/jpeg", "js": "text/javascript", "json": "application/json",
    "jsonl": "application/jsonl", "m4a": "audio/mp4", "m4v": "video/mp4", "md": "text/markdown",
    "mkv": "video/matroska", "mov": "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4",
    "mpeg": "video/mpeg", "ogg": "audio/ogg", "parquet": "application/vnd.apache.parquet",
    "pdf": "application/pdf", "png": "image/png", "ppt": "application/vnd.ms-powerpoint",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "svg": "image/svg+xml", "tar": "application/x-tar", "tif": "image/tiff", "tiff": "image/tiff",
    "tsv": "text/tab-separated-values", "txt": "text/plain", "wasm": "application/wasm", "wav": "audio/wav",
    "webm": "video/webm", "webp": "image/webp", "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xml": "application/xml",
    "yaml": "application/yaml", "yml": "application/yaml", "zip": "application/zip",
    "zst": "application/zstd",
  ]
}
