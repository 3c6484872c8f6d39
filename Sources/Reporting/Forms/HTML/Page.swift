import JobModel

/// Pieces of the page that several parts need.
enum Page {
  /// A stranger's text: bounded, escaped, and by itself in its direction.
  static func text(_ text: String) -> String { "<bdi>" + Markup.text(clipped(text)) + "</bdi>" }

  /// By scalars: one character of a stranger's may have thousands of them.
  static func clipped(_ text: String) -> String {
    let scalars = text.unicodeScalars
    guard text.utf8.count > longest, scalars.count > longest else { return text }
    return String(scalars.prefix(longest * 2 / 3)) + "…" + String(scalars.suffix(longest / 3))
  }

  private static let longest = 300

  /// A state as a word with its colour.
  static func state(_ word: String) -> String {
    "<span class=\"s \(tone(word))\">\(Markup.text(word.replacing("_", with: " ")))</span>"
  }

  /// The class that a state's colour goes by.
  static func tone(_ word: String) -> String {
    switch word {
    case "completed": "good"
    case "up_to_date": "same"
    case "failed": "bad"
    case "paused", "queued", "running": "wait"
    default: "off"
    }
  }

  /// `1,234,567`.
  static func number(_ value: Int64) -> String {
    let digits = String(value.magnitude)
    var out = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { out += "," }
      out.append(digit)
    }
    return value < 0 ? "-" + out : out
  }

  static func number(_ value: Int) -> String { number(Int64(value)) }

  /// `1,234 transfers`.
  static func count(_ value: Int, _ noun: String) -> String {
    number(value) + " " + noun + (value == 1 ? "" : "s")
  }

  /// `2026-11-23 19:09:43` of a report's time.
  static func time(_ text: String?) -> String {
    guard let text, text.utf8.count >= 19 else { return "–" }
    return Markup.text(String(text.prefix(10)) + " " + String(text.dropFirst(11).prefix(8)))
  }

  /// How long a run's attempts took together, which is less than the run where it was stopped in between.
  static func secondsAtWork(_ run: JSON) -> Double {
    (run["attempts"].array ?? []).reduce(0.0) { sum, attempt in
      func time(_ name: String) -> Double? { attempt[name].string.flatMap(Timestamp.seconds) }
      guard let from = time("started_at"), let to = time("ended_at") else { return sum }
      return sum + max(0, to - from)
    }
  }

  /// A part of the page; nothing where it has nothing to tell.
  static func section(_ title: String, _ id: String, _ content: String) -> String {
    content.isEmpty
      ? ""
      : "<section id=\"\(id)\" aria-labelledby=\"h-\(id)\">\n<h2 id=\"h-\(id)\">\(title)</h2>\n\(content)</section>\n"
  }
}
