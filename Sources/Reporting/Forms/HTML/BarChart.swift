import JobModel

/// Counts as bars beside their labels.
enum BarChart {
  static func html(_ title: String, _ rows: [(label: String, count: Int)]) -> String {
    guard let most = rows.map(\.count).max(), most > 0 else { return "" }
    let bars = rows.map { label, count in
      // A few of very many are seen; none is not.
      let width = count == 0 ? 0 : max(0.5, Double(count) * 100 / Double(most))
      return "<tr><th scope=\"row\">\(Markup.text(label))</th>"
        + "<td class=\"bar\" style=\"--w:\(JSON.number(width).text)%\"></td>"
        + "<td class=\"n\">\(Page.number(count))</td></tr>\n"
    }
    return
      "<figure><figcaption>\(title)</figcaption><table class=\"bars\"><tbody>\n\(bars.joined())</tbody></table></figure>\n"
  }
}
