import JobModel

/// Rows of a table of transfers: the first, and how many more there are.
struct TransferRows {
  private let limit: Int
  private let most: Int
  private(set) var rows: [String] = []
  private(set) var count = 0
  private var bytes = 0

  /// - Parameters:
  ///   - limit: rows that are kept.
  ///   - most: bytes that they may have together.
  init(limit: Int, bytes most: Int) {
    self.limit = limit
    self.most = most
  }

  mutating func add(_ transfer: JSON) {
    count += 1
    guard rows.count < limit, bytes < most else { return }
    let row = Self.row(transfer)
    rows.append(row)
    bytes += row.utf8.count
  }

  static let head = """
    <tr><th scope="col">Transfer</th><th scope="col">State</th><th scope="col" class="n">Size</th>\
    <th scope="col" class="n">Time</th><th scope="col" class="n">Retries</th></tr>
    """

  static func row(_ transfer: JSON) -> String {
    let state = transfer["state"].string ?? ""
    let reason = transfer["reason"].string.map { " <small>\(Page.text($0))</small>" } ?? ""
    var told = ""
    if let code = transfer["error"]["code"].string {
      told =
        "<div class=\"why\"><b>\(Page.text(code))</b> \(Page.text(transfer["error"]["message"].string ?? ""))</div>"
    }
    let way =
      Page.text(transfer["source"].string ?? "") + " → " + Page.text(transfer["destination"].string ?? "")
    let size = transfer["size"].int64
    let seconds = transfer["duration_s"].double
    let retries = transfer["retries"].int64 ?? 0
    return "<tr><td>\(Page.text(transfer["id"].string ?? ""))\(told)<div class=\"way\">\(way)</div></td>"
      + "<td>\(Page.state(state))\(reason)</td>"
      + "<td class=\"n\" data-v=\"\(size ?? -1)\">\(size.map(Figures.bytes) ?? "–")</td>"
      + "<td class=\"n\" data-v=\"\(seconds ?? -1)\">\(seconds.map(Figures.duration) ?? "–")</td>"
      + "<td class=\"n\" data-v=\"\(retries)\">\(retries)</td></tr>\n"
  }
}
