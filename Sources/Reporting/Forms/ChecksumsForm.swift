import JobModel

/// `sha256sums`: the local files that the run proved, as `sha256sum -c` takes them in the manifest's folder.
struct ChecksumsForm: FormWriter {
  func write(_ report: any Report, to sink: @escaping ByteSink) throws {
    let out = BlockSink(sink)
    _ = try report.transfers(.every) { transfer in
      // The sum of bytes that nothing was compared with proves no more than that they are the same still.
      guard Evidence.isProved(transfer),
        // Of a copy nothing lies here.
        transfer["direction"].string != "copy", let digest = transfer["digests"]["sha256"].string,
        let path = transfer[transfer["direction"].string == "upload" ? "source" : "destination"].string
      else { return }
      try out.add(Self.line(digest, path))
    }
    try out.flush()
  }

  /// GNU coreutils' form: a name with a backslash or a line break has it escaped, and a backslash before the line.
  static func line(_ digest: String, _ path: String) -> String {
    // A lone `-` is standard input to sha256sum.
    let path = path == "-" ? "./-" : path
    let escaped = path.escaping(["\\": "\\\\", "\n": "\\n", "\r": "\\r"])
    return (escaped.utf8.count == path.utf8.count ? "" : "\\") + digest + "  " + escaped + "\n"
  }
}
