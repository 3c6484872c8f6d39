import JobModel

/// `ids`: the ids of the transfers, one a line, as `haul run --only-from` takes them.
struct IDsForm: FormWriter {
  func write(_ report: any Report, to sink: @escaping ByteSink) throws {
    let out = BlockSink(sink)
    _ = try report.transfers(.every) { transfer in
      if let id = transfer["id"].string { try out.add(id + "\n") }
    }
    try out.flush()
  }
}
