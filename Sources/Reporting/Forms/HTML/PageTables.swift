import JobModel

/// Distributions, the longest lists' tops, groups and evidence.
struct PageTables {
  let facts: PageFacts

  var distributions: String {
    let charts =
      BarChart.html(
        "Sizes", facts.sizes.rows { Figures.bytes(Int64(clamping: $0)).replacing(".0 ", with: " ") })
      + BarChart.html("Seconds of work", facts.durations.rows(Self.seconds))
    return charts.isEmpty ? "" : "<div class=\"pair\">\n\(charts)</div>\n"
  }

  private static func seconds(_ value: Double) -> String {
    switch value {
    case ..<60: JSON.number(value).text + " s"
    case ..<3600: JSON.number(value / 60).text + " min"
    default: JSON.number(value / 3600).text + " h"
    }
  }

  var tops: String {
    let lists = [
      top("Slowest", facts.slowest) { Figures.duration($0) },
      top("Most retried", facts.mostRetried) { Page.number(Int64(clamping: $0)) },
    ].joined()
    return lists.isEmpty ? "" : "<div class=\"pair\">\n\(lists)</div>\n"
  }

  private func top(_ title: String, _ list: TopList, _ figure: (Double) -> String) -> String {
    guard !list.items.isEmpty else { return "" }
    let rows = list.items.map { item in
      let transfer = item.transfer
      let size = transfer["size"].int64.map(Figures.bytes) ?? "–"
      return
        "<tr><td>\(Page.text(transfer["id"].string ?? ""))</td><td>\(Page.state(transfer["state"].string ?? ""))</td>"
        + "<td class=\"n\">\(size)</td><td class=\"n\">\(Markup.text(figure(item.figure)))</td></tr>\n"
    }
    return
      "<figure><figcaption>\(title)</figcaption><table><tbody>\n\(rows.joined())</tbody></table></figure>\n"
  }

  var groups: String {
    let tables = [("Host", facts.hosts), ("Policy", facts.policies)].map(group).joined()
    return tables
  }

  private func group(_ title: String, _ groups: TransferGroups) -> String {
    let rows = groups.rows
    guard !rows.isEmpty else { return "" }
    let cells = rows.map { name, group in
      "<tr><th scope=\"row\">\(Page.text(name))</th>"
        + [group.transfers, group.done, group.failed, group.waiting].map(Self.figure).joined()
        + "<td class=\"n\">\(Figures.bytes(group.bytes))</td>" + Self.figure(Int(clamping: group.retries))
        + "<td class=\"n\">\(Figures.duration(group.seconds))</td></tr>\n"
    }
    let head = ["Transfers", "Complete", "Failed", "Waiting", "Moved", "Retries", "Work"].map {
      "<th scope=\"col\" class=\"n\">\($0)</th>"
    }
    return """
      <div class="wide"><table><thead><tr><th scope="col">\(title)</th>\(head.joined())</tr></thead><tbody>
      \(cells.joined())</tbody></table></div>

      """
  }

  private static func figure(_ value: Int) -> String {
    "<td class=\"n\(value == 0 ? " zero" : "")\">\(Page.number(value))</td>"
  }

  var evidence: String {
    let evidence = facts.evidence
    let done = evidence.verified + evidence.unverified
    guard done > 0 else { return "" }
    let rows = evidence.checks.sorted { ($1.value, $0.key.check) < ($0.value, $1.key.check) }.map {
      check, count in
      "<tr><th scope=\"row\">\(Page.text(check.check))</th><td>\(check.against.rawValue)</td>"
        + "<td>\(Self.result(check.result))</td>\(Self.figure(count))</tr>\n"
    }
    let told =
      evidence.unverified == 0
      ? "Each of the \(Page.number(done)) complete transfers is proved by a digest, or something as good."
      : "\(Page.number(evidence.verified)) of \(Page.number(done)) complete transfers are proved by a digest, or something as good; "
        + "of \(Page.number(evidence.unverified)) nothing but size or type was compared."
    let table =
      rows.isEmpty
      ? ""
      : """
      <div class="wide"><table><thead><tr><th scope="col">Check</th><th scope="col">Against</th>\
      <th scope="col">Result</th><th scope="col" class="n">Transfers</th></tr></thead><tbody>
      \(rows.joined())</tbody></table></div>

      """
    return "<p>\(told)</p>\n" + table
  }

  private static func result(_ result: Verification.Result) -> String {
    let tone =
      switch result {
      case .match: "good"
      case .mismatch: "bad"
      case .unavailable: "off"
      }
    return "<span class=\"s \(tone)\">\(result.rawValue)</span>"
  }
}
