internal import JobModel
internal import ManifestFields
internal import YAML

/// `for_each`: which file's rows make transfers.
enum ForEachRule {
  private static let formats = ["csv", "jsonl", "checksums", "list", "inventory"]

  static func read(_ parent: Fields) -> RowSource? {
    guard let fields = parent.fields("for_each", .forEach) else { return nil }
    let given = formats.filter(fields.has)
    guard let word = given.first, given.count == 1 else {
      parent.error(
        "`for_each` has exactly one of csv, jsonl, checksums, list and inventory", at: "for_each",
        hint: "for_each: { csv: files.csv }")
      return nil
    }
    let columns = fields.list("columns") { text throws(ValueFault) in
      guard !text.isEmpty else { throw ValueFault("a column has a name") }
      return text
    }
    if fields.has("columns"), word != "csv" {
      fields.scope.faults.error("`columns` are of a csv", at: fields.keyMark("columns"), hint: "leave it out")
    }
    if let columns, Set(columns).count != columns.count {
      fields.error("two columns have one name", at: "columns")
    }
    if let columns, columns.isEmpty { fields.error("`columns` names none", at: "columns") }
    let key = fields.marked("key", allowed: [.environment, .row])
    guard let path = fields.text(word), let mark = fields.node(word)?.mark else { return nil }
    if let fault = RelativePath.shellFault(path) {
      fields.scope.faults.error(fault, at: mark)
      return nil
    }
    let format: RowSource.Format =
      switch word {
      case "csv": .csv(columns: columns)
      case "jsonl": .jsonl
      case "checksums": .checksums
      case "inventory": .inventory
      default: .list
      }
    return RowSource(
      format: format, path: path, mark: fields.scope.faults.sourceMark(mark),
      lineText: fields.scope.faults.lineText(mark) ?? "", key: key)
  }
}
