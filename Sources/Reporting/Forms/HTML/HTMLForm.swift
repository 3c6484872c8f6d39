import JobModel
import Posix

/// `html`: one page about a run, which needs nothing else: what came of it and what to do first, then how it went.
struct HTMLForm: FormWriter {
  func write(_ report: any Report, to sink: @escaping ByteSink) throws {
    let members = JSON.object(try report.members())
    var facts = PageFacts(members["run"], now: SystemClock.now)
    _ = try report.transfers(.every) { facts.add($0) }
    let out = BlockSink(sink)
    try out.add(PageHeader(report: members).html)
    try out.add(Page.section("What to do", "todo", PageAdvice(report: members, facts: facts).html))
    try out.add(Page.section("Where it stands", "states", PageTotals(report: members, facts: facts).html))
    try out.add(
      Page.section("Over time", "time", facts.timeline.map { TimelineChart(timeline: $0).html } ?? ""))
    let tables = PageTables(facts: facts)
    try out.add(Page.section("Sizes and times", "sizes", tables.distributions))
    try out.add(Page.section("Slowest and most retried", "slow", tables.tops))
    try out.add(Page.section("By host and policy", "groups", tables.groups))
    try out.add(Page.section("Evidence", "evidence", tables.evidence))
    try list(out, "Not complete", "attention", facts.attention)
    try list(out, "Complete", "complete", facts.others)
    try out.add(PageHeader(report: members).footer)
    try out.flush()
  }

  private func list(_ out: BlockSink, _ title: String, _ id: String, _ rows: TransferRows) throws {
    guard rows.count > 0 else { return }
    let rest = rows.count - rows.rows.count
    let more =
      rest > 0
      ? "<p class=\"note\">\(Page.count(rest, "more transfer")): <code>haul report --format csv</code> lists all.</p>\n"
      : ""
    // A long list is laid out when it is scrolled to; a short one costs nothing, and has its true height at once.
    let shown = rows.rows.count
    let box = shown > 100 ? "class=\"wide rows\" style=\"--rows:\(shown)\"" : "class=\"wide\""
    try out.add(
      """
      <section id="\(id)" aria-labelledby="h-\(id)">
      <h2 id="h-\(id)">\(title) <small>\(Page.number(rows.count))</small></h2>
      <div \(box)><table class="list"><thead>\(TransferRows.head)</thead><tbody>

      """)
    for row in rows.rows { try out.add(row) }
    try out.add("</tbody></table></div>\n\(more)</section>\n")
  }
}
