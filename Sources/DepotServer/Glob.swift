/// `*` matches any run of characters, `/` included; `?` matches one.
enum Glob {
  static func matches(_ pattern: String, _ text: String) -> Bool {
    let pattern = Array(pattern.utf8)
    let text = Array(text.utf8)
    var (p, t) = (0, 0)
    // Where to go back to: the last star, and the text it has swallowed up to.
    var (star, swallowed) = (-1, 0)
    while t < text.count {
      if p < pattern.count, pattern[p] == UInt8(ascii: "*") {
        (star, swallowed) = (p, t)
        p += 1
      } else if p < pattern.count, pattern[p] == text[t] || pattern[p] == UInt8(ascii: "?") {
        (p, t) = (p + 1, t + 1)
      } else if star >= 0 {
        swallowed += 1
        (p, t) = (star + 1, swallowed)
      } else {
        return false
      }
    }
    return pattern[p...].allSatisfy { $0 == UInt8(ascii: "*") }
  }
}
