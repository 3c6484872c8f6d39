import JobModel

/// The page's beginning, with the verdict in one line, and its end.
struct PageHeader {
  let report: JSON

  var html: String {
    let name = report["job"]["name"].string ?? report["job"]["manifest"].string ?? "job"
    let (tone, word, told) = verdict
    let run = report["run"]
    let facts = [
      run["number"].int64.map { number in
        "run \(number)" + (run["attempt"].int64.map { $0 > 1 ? ", attempt \($0)" : "" } ?? "")
      },
      run["host"].string.map { "on " + Page.text($0) },
      run["started_at"].string.map { "began " + Page.time($0) + " UTC" },
      run["duration_s"].double.map { whole in
        let work = Page.secondsAtWork(run)
        let isSplit = work > 0 && whole - work >= 1
        return "took " + Figures.duration(whole) + (isSplit ? ", at work for " + Figures.duration(work) : "")
      },
      run["exit_code"].int64.map { "exit code \($0)" },
    ].compactMap(\.self).joined(separator: " · ")
    let description = report["job"]["description"].string.map { "<p>\(Page.text($0))</p>\n" } ?? ""
    let selection =
      switch report["selection"]["kind"].string {
      case "failed": note("Only what had not completed before was asked for.")
      case "only_from": note("Only the transfers of a list were asked for.")
      default:
        report["selection"]["only"].string.map {
          note("Only transfers that match \(Page.text($0)) were asked for.")
        } ?? ""
      }
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <meta name="generator" content="haul \(Markup.text(report["tool"]["version"].string ?? ""))">
      <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
      script-src 'sha256-\(PageScript.digest)'">
      <title>\(word): \(Markup.text(Page.clipped(name)))</title>
      <style>
      \(PageStyle.css)
      </style>
      </head>
      <body class="\(tone)">
      <header>
      <h1>\(Page.text(name))</h1>
      <p class="verdict"><b>\(word).</b> \(told)</p>
      <p class="facts">\(facts)</p>
      \(description)\(selection)</header>
      <main>

      """
  }

  private func note(_ text: String) -> String { "<p class=\"note\">\(text)</p>\n" }

  var footer: String {
    let job = report["job"]
    let manifest = job["manifest"].string.map { "Manifest \(Page.text($0))" } ?? ""
    let digest = job["manifest_sha256"].string.map { ", SHA-256 <code>\(Markup.text($0))</code>" } ?? ""
    let run = report["run"]["id"].string.map { " Run <code>\(Markup.text($0))</code>." } ?? ""
    return """
      </main>
      <footer><p>\(manifest)\(digest).\(run) haul \(Markup.text(report["tool"]["version"].string ?? "")). Times are UTC.</p>
      </footer>
      <script>\(PageScript.text)</script>
      </body>
      </html>

      """
  }

  private var verdict: (tone: String, word: String, told: String) {
    let totals = report["totals"]
    // A run is judged by what it was asked for.
    let judged = report["selection"]["totals"].members == nil ? totals : report["selection"]["totals"]
    // A stored report may have been edited: its sums must not overflow.
    func count(_ name: String) -> Int { Int(max(0, min(judged[name].int64 ?? 0, 1 << 40))) }
    let all = count("transfers")
    let done = count("completed") + count("up_to_date")
    let left = count("paused") + count("queued") + count("running")
    let moved = Figures.bytes(totals["bytes"]["transferred"].int64 ?? 0)
    let rest = left > 0 ? " \(Page.number(left)) more wait\(left == 1 ? "s" : "")." : ""
    let broken = count("failed")
    switch report["run"]["outcome"].string.flatMap(RunOutcome.init(rawValue:)) {
    case .completed:
      let kept = count("skipped") + count("canceled")
      let others = kept > 0 ? "; \(Page.number(kept)) skipped or canceled" : ""
      return (
        "good", "Completed",
        "\(Page.number(done)) of \(Page.count(all, "transfer")) in place, \(moved) moved\(others)."
      )
    case .failed where all == 0: return ("bad", "Failed", "No transfer was begun.")
    case .failed:
      return (
        "bad", "Failed",
        broken > 0
          ? "\(Page.number(broken)) of \(Page.count(all, "transfer")) failed, \(Page.number(done)) in place.\(rest)"
          : "\(Page.number(done)) of \(Page.count(all, "transfer")) in place.\(rest)"
      )
    case .incomplete:
      return (
        "wait", "Not finished",
        "\(Page.number(done)) of \(Page.count(all, "transfer")) in place, \(Page.number(left)) left. Run the same command again to go on."
      )
    case .canceled: return ("off", "Canceled", "\(Page.count(all, "transfer")).")
    case .invalid: return ("bad", "Invalid", "The manifest has errors, and nothing was done.")
    case .refused: return ("wait", "Refused", "This job is already running.")
    case nil:
      return ("wait", "Running", "\(Page.number(done)) of \(Page.count(all, "transfer")) in place so far.")
    }
  }
}
