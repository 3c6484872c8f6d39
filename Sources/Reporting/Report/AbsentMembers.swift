import JobModel

/// What an ordinary transfer of a written report says by leaving members out: as in schemas/report.schema.json, as far as it
/// tells one value.
enum AbsentMembers {
  /// The transfer with these members; one that is not ordinary stays as it is.
  ///
  /// - Parameters:
  ///   - name: of its capabilities, where it leaves them out.
  ///   - ability: its capabilities.
  static func added(to transfer: JSON, capabilities name: String?, _ ability: JSON) -> JSON {
    guard let members = transfer.members, transfer["attempts"] == .null else { return transfer }
    let size = transfer["size"].int64
    let isMoved = transfer["bytes"]["transferred"].int64 ?? 0 > 0
    let chunks = JSON.int(size.map { min($0, 1) })
    let absent: [JSON.Member] = [
      .init("session", "none"), .init("url", .text(url(transfer, ability))),
      .init("chunks", ["total": chunks, "completed": chunks]), .init("contiguous_bytes", .int(size)),
      .init("capabilities", .text(name)), .init("attempts", .integer(1)), .init("retries", .integer(0)),
      .init("requests", .integer(0)), .init("max_chunk_attempts", .integer(isMoved ? 1 : 0)),
      .init("updated_at", transfer["ended_at"]),
    ]
    return .object(members + absent.filter { member in !members.contains { $0.name == member.name } })
  }

  /// The place's own, or what the URLs of its capabilities begin with and the place's path.
  private static func url(_ transfer: JSON, _ ability: JSON) -> String? {
    let place = transfer[transfer["direction"].string == "download" ? "source" : "destination"].string ?? ""
    if ["http://", "https://"].contains(where: { place.hasPrefix($0) }) {
      return Masking.withoutQuery(place)
    }
    let bytes = place.utf8
    guard let start = ability["url"].string, let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else {
      return nil
    }
    return start + String(Substring(bytes[bytes.index(after: colon)...]))
  }
}
