import JobModel

/// The report of one part: what stands beside its transfers, and where they can be read again.
struct ShardReport {
  let file: ReopenedFile
  let shard: Shard
  /// All members but `transfers`.
  let head: JSON
  let places: PlanPlaces

  /// Reads it through.
  ///
  /// - Parameter transfer: told of each transfer that something keeps where it is.
  init(
    _ file: ReopenedFile, blockSize: Int, left transfer: (_ transfer: JSON, _ shard: Shard?) -> Void
  ) throws(MergeFault) {
    self.file = file
    var pieces = ReportPieces(file, blockSize: blockSize)
    var members: [JSON.Member] = []
    var (count, shard, places) = (0, nil as Shard?, PlanPlaces())
    while let piece = try pieces.next() {
      switch piece {
      case .member(let name, let value):
        members.append(.init(name, value))
        if name == "run" { shard = Self.shard(value) }
      case .transfer(let bytes):
        count += 1
        switch Self.glance(at: bytes) {
        case .plain(let ordinal): if let ordinal { places.add(ordinal) }
        case .toBeRead:
          guard let value = JSON(bytes) else { throw pieces.fault("a transfer in it is not JSON") }
          if let ordinal = value["ordinal"].int64 { places.add(ordinal) }
          transfer(value, shard)
        }
      }
    }
    (head, self.places) = (.object(members), places)
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

  private enum Glance {
    case plain(ordinal: Int64?)
    /// It may have failed.
    case toBeRead
  }

  /// Most transfers have no error, and only their place is read. A name may be written with escapes.
  private static func glance(at bytes: [UInt8]) -> Glance {
    var ordinal: Int64?
    for index in bytes.indices.dropLast() {
      switch (bytes[index], bytes[index + 1]) {
      case (0x5C, 0x75): return .toBeRead
      case (0x22, 0x72) where bytes[index...].starts(with: errorMember): return .toBeRead
      case (0x22, 0x6F) where ordinal == nil && bytes[index...].starts(with: ordinalMember):
        ordinal = number(in: bytes[(index + ordinalMember.count)...])
      default: continue
      }
    }
    return .plain(ordinal: ordinal)
  }

  /// What follows a member's name; nil where that is no whole number, or the name was a text.
  private static func number(in bytes: ArraySlice<UInt8>) -> Int64? {
    let value = bytes.drop(while: isBlank)
    guard value.first == 0x3A else { return nil }
    let digits = value.dropFirst().drop(while: isBlank).prefix { (0x30...0x39).contains($0) }
    return Int64(String(decoding: digits, as: UTF8.self))
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }

  private static let errorMember = Array("\"retryable\"".utf8)
  private static let ordinalMember = Array("\"ordinal\"".utf8)
}
