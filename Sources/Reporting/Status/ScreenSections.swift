/// Sections of lines, cut to a screen's height: each shows as much as fits beside the others, and counts the rest.
struct ScreenSections {
  struct Section {
    /// Lines that belong together.
    var items: [[String]]
    /// What is not shown, by the number of items that are.
    var rest: (_ shown: Int) -> String?
  }

  let sections: [Section]

  /// - Parameter room: lines; nil for all.
  func lines(_ room: Int?) -> [String] {
    var shown = sections.map { _ in 0 }
    var isFull = sections.map { _ in false }
    while isFull.contains(false) {
      for index in sections.indices where !isFull[index] {
        guard shown[index] < sections[index].items.count else {
          isFull[index] = true
          continue
        }
        shown[index] += 1
        guard let room, height(shown) > room else { continue }
        shown[index] -= 1
        isFull[index] = true
      }
    }
    return zip(sections, shown).flatMap { section, shown in
      section.items.prefix(shown).flatMap(\.self) + [section.rest(shown)].compactMap(\.self)
    }
  }

  private func height(_ shown: [Int]) -> Int {
    zip(sections, shown).reduce(0) { sum, one in
      let (section, shown) = one
      return sum + section.items.prefix(shown).reduce(0) { $0 + $1.count }
        + (section.rest(shown) == nil ? 0 : 1)
    }
  }
}
