/// Finds the word that a mistyped one was meant to be.
package enum NearMiss {
  /// The nearest candidate, if it is near enough to be worth asking about.
  package static func of(_ word: String, among candidates: some Sequence<String>) -> String? {
    let folded = fold(word)
    var best: (candidate: String, distance: Int)?
    for candidate in candidates {
      let distance = distance(folded, fold(candidate))
      let allowed = max(1, min(folded.count, candidate.unicodeScalars.count) / 3)
      guard distance <= allowed, distance < best?.distance ?? .max else { continue }
      best = (candidate, distance)
    }
    return best?.candidate
  }

  private static func fold(_ word: String) -> [Unicode.Scalar] {
    word.lowercased().unicodeScalars.filter { $0 != "_" && $0 != "-" && $0 != " " }
  }

  /// Edits (insert, delete, replace, swap of neighbours) that make one of the other.
  private static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
    guard left.count <= 64, right.count <= 64 else { return .max }
    var older: [Int] = []
    var previous = Array(0...right.count)
    for (i, a) in left.enumerated() {
      var row = [i + 1]
      for (j, b) in right.enumerated() {
        var cost = min(previous[j + 1] + 1, row[j] + 1, previous[j] + (a == b ? 0 : 1))
        if i > 0, j > 0, a == right[j - 1], left[i - 1] == b { cost = min(cost, older[j - 1] + 1) }
        row.append(cost)
      }
      older = previous
      previous = row
    }
    return previous[right.count]
  }
}
