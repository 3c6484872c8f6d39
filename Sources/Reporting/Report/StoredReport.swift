package import JobLedger
package import JobModel

/// A stored report is damaged, or one of a haul that wrote reports otherwise.
package struct UnreadableReport: Error, Sendable, Hashable {
  package var path: String
}

/// The report of an older run, as it was stored: the plan has moved on since.
package struct StoredReport: Report {
  private let path: String
  private let run: RunRecord
  private let job: String
  private let success: Double?

  /// - Parameters:
  ///   - path: the file that the run's report was written to.
  ///   - success: when a run of the job ended with 0 last, seconds since 1970.
  package init(_ path: String, job: String, run: RunRecord, lastSuccess success: Double?) {
    self.path = path
    self.run = run
    self.job = job
    self.success = success
  }

  package func lastSuccess() -> Double? { success }

  package func members() throws -> [JSON.Member] {
    try read { _ in }.filter { !["policies", "capabilities"].contains($0.name) }
  }

  package func transfers(_ extent: TransferExtent, _ body: (JSON) throws -> Void) throws -> [JSON.Member] {
    // Which ids a list had, or what had failed, is not known any more.
    let pattern = extent == .selected ? try selectedPattern() : nil
    // They stand behind the transfers that mean them.
    let abilities = extent.isWhole ? JSON.object(try read { _ in })["capabilities"] : .null
    let first = Capabilities.firstNames(in: abilities)
    return try read { transfer in
      guard pattern?.includes(transfer["id"].string ?? "") ?? true else { return }
      guard extent.isWhole else { return try body(transfer) }
      let name = transfer["capabilities"].string ?? first[Capabilities.kind(transfer)]
      try body(
        AbsentMembers.added(to: transfer, capabilities: name, name.map { abilities[$0] } ?? .null))
    }.filter { ["policies", "capabilities"].contains($0.name) }
  }

  private func selectedPattern() throws -> IDPattern? {
    let text = try JSON.object(members())["selection"]["only"].string
    return text.flatMap { try? IDPattern($0) }
  }

  package func evidence() throws -> Evidence {
    var evidence = Evidence()
    _ = try read { evidence.add($0) }
    return evidence
  }

  /// The summary; where the report is no longer kept, or can't be read, what the history says of its run.
  package func text(isColoured: Bool) -> String {
    guard let members = try? members() else { return History(job: job, runs: [run]).text() }
    return MembersText(members, at: path, isColoured: isColoured).text
  }

  package func writeJSON(to sink: @escaping ByteSink) throws { try ReportFile.read(path, into: sink) }

  /// Reads the file line by line: each transfer has one of its own.
  ///
  /// - Returns: the members but for the transfers.
  private func read(_ transfer: (JSON) throws -> Void) throws -> [JSON.Member] {
    var rest: [UInt8] = []
    var isInTransfers = false
    var line: [UInt8] = []
    func take() throws {
      defer { line.removeAll(keepingCapacity: true) }
      if isInTransfers, line.starts(with: Self.end) { isInTransfers = false }
      guard isInTransfers else {
        rest += line
        if line == Self.start { isInTransfers = true }
        return
      }
      if line.last == UInt8(ascii: ",") { line.removeLast() }
      guard let value = JSON(line) else { throw unreadable }
      try transfer(value)
    }
    try ReportFile.read(path) { block in
      for byte in block {
        if byte == UInt8(ascii: "\n") { try take() } else { line.append(byte) }
      }
    }
    try take()
    guard let members = JSON(rest)?.members else { throw unreadable }
    return members.filter { $0.name != "transfers" }
  }

  private static let start = Array("  \"transfers\": [".utf8)
  private static let end = Array("  ]".utf8)

  private var unreadable: UnreadableReport { UnreadableReport(path: path) }
}
