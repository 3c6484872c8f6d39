internal import JobModel
internal import ManifestFields
internal import YAML

/// `where`: bounds of the entries of a fan-out.
enum WhereRule {
  static func read(_ parent: Fields) -> EntryBounds? {
    guard let fields = parent.fields("where", .entryBounds), let mark = parent.keyMark("where") else {
      return nil
    }
    let faults = parent.scope.faults
    var bounds = EntryBounds(mark: faults.sourceMark(mark), lineText: faults.lineText(mark) ?? "")
    if let size = fields.fields("size", .sizeBounds) {
      (bounds.minSize, bounds.maxSize) = (size.size("min"), size.size("max"))
      if let min = bounds.minSize, let max = bounds.maxSize, max < min {
        size.error("`max` is less than `min`: no entry would be meant", at: "max")
      }
    }
    if let modified = fields.fields("modified", .timeBounds) {
      bounds.after = modified.value("after", EntryBounds.moment)
      bounds.before = modified.value("before", EntryBounds.moment)
      if let after = bounds.after, let before = bounds.before,
        EntryBounds.isEmpty(after: after, before: before)
      {
        modified.error(
          "`before` is not later than `after`: no entry would be meant", at: "before",
          hint: "of two durations the longer one is the earlier time: `{ after: 7d, before: 1d }`")
      }
    }
    return bounds
  }
}
