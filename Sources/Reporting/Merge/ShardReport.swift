import JobModel

/// The report of one part: what stands beside its transfers, and where they can be read again.
struct ShardReport {
  let file: ReopenedFile
  let shard: Shard
  /// All members but `transfers`.
  let head: JSON

  /// Reads it through.
  ///
  /// - Parameter transfer: told of each transfer that something keeps where it is.
  init(
    _ file: ReopenedFile, blockSize: Int, left transfer: (_ transfer: JSON, _ shard: Shard?) -> Void
  ) throws(MergeFault) {
    self.file = file
    var pieces = ReportPieces(file, blockSize: blockSize)
    var members: [JSON.Member] = []
    var (count, shard) = (0, nil as Shard?)
    while let piece = try pieces.next() {
      switch piece {
      case .member(let name, let value):
        members.append(.init(name, value))
        if name == "run" { shard = Self.shard(value) }
      case .transfer(let bytes):
        count += 1
        guard Self.mayHaveFailed(bytes) else { continue }
        guard let value = JSON(bytes) else { throw pieces.fault("a transfer in it is not JSON") }
        transfer(value, shard)
      }
    }
    head = .object(members)
    guard head["schema"].string == "haul.report/v1", head["job"].members != nil, head["run"].members != nil
    else { throw pieces.fault("it is not a `haul.report/v1`") }
    guard let shard = Self.shard(head["run"]) else {
      throw MergeFault(
        .mismatch, "`\(file.path)` is not the report of a shard",
        hint: "those are merged that `haul run --shard I/N` wrote")
    }
    self.shard = shard
    guard let total = head["totals"]["transfers"].int64, total >= Int64(count) else {
      throw pieces.fault("its totals are not those of its transfers")
    }
    guard head["transfers_scope"].string != "all" || total == Int64(count) else {
      throw MergeFault(
        .mismatch, "`\(file.path)` has \(count) of its \(total) transfers: something was taken out of it",
        hint:
          "merge reports as haul wrote them; `haul report JOB --shard \(shard.text) --format json` writes it again"
      )
    }
  }

  private static func shard(_ run: JSON) -> Shard? {
    guard let index = run["shard"]["index"].int64, let count = run["shard"]["count"].int64 else { return nil }
    return Shard(Int(clamping: index), of: Int(clamping: count))
  }

  /// Most transfers have no error, and are not read for what they say. A name may be written with escapes.
  private static func mayHaveFailed(_ bytes: [UInt8]) -> Bool {
    for index in bytes.indices.dropLast() {
      switch (bytes[index], bytes[index + 1]) {
      case (0x5C, 0x75): return true
      case (0x22, 0x72) where bytes[index...].starts(with: errorMember): return true
      default: continue
      }
    }
    return false
  }

  private static let errorMember = Array("\"retryable\"".utf8)
}
