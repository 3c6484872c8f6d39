import JobModel

/// `jsonl`: the report's head on the first line, then a transfer a line.
struct JSONLinesForm: FormWriter {
  func write(_ report: any Report, to sink: @escaping ByteSink) throws {
    // The head has the policies and capabilities, which are known behind the transfers.
    let buffer = try TempBuffer()
    let lines = BlockSink(buffer.add)
    let shared = try report.transfers(.listed) { try lines.addLine($0) }
    try lines.flush()
    let out = BlockSink(sink)
    try out.addLine(.object(try report.members() + shared))
    try out.flush()
    try buffer.read(sink)
  }
}
