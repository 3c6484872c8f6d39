/// Rows set in columns, two blanks between them.
enum Columns {
  static func text(_ rows: [[String]]) -> String {
    var widths: [Int] = []
    for row in rows {
      for (index, cell) in row.enumerated() {
        if index == widths.count { widths.append(0) }
        widths[index] = max(widths[index], DisplayText.width(cell))
      }
    }
    let lines = rows.map { row in
      row.enumerated().map { index, cell in
        // Nothing follows the last column: no blanks at the line's end.
        index == row.count - 1 ? cell : DisplayText.padded(cell, to: widths[index])
      }.joined(separator: "  ")
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
