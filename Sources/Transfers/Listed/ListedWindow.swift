import Endpoints
import JobModel

/// Names of one endpoint that are about to be looked at, and what pages of its listing tell of them. A value: it says which page is
/// to be asked for, and is told what it brought.
///
/// Pages begin where names are wanted, so that what lies between is not listed. A listing that is out of order is not gone on with.
struct ListedWindow {
  enum Step: Sendable, Hashable {
    case told(ListedObject)
    case ask(ListedPlace)
  }

  private enum State {
    case unknown
    /// Seconds since 1970, when the page was asked for.
    case absent(at: Double)
    case entry(ListedPage.Entry, at: Double)

    func isKnown(since time: Double) -> Bool {
      switch self {
      case .unknown: false
      case .absent(let at), .entry(_, let at): at >= time
      }
    }
  }

  /// Names that make a window: a page costs a server, and at AWS its user, as much as a dozen looks.
  static let least = 12
  /// Names that a page is to tell of.
  private static let worthwhile = 8
  /// Names before the one asked for that a page begins with at most: they are asked for at the same time.
  private static let before = 400
  /// Names of a page, at most.
  private static let page = 1000
  /// Pages that may tell of less than is worth it.
  private static let trials = 4

  /// All names begin with it.
  let prefix: String
  private let names: [ByteText]
  private var states: [State]
  /// Where the last page ended.
  private var end: ByteText?
  private var pages = 0
  private var answers = 0
  /// No more pages are asked for.
  private(set) var isOver: Bool

  init(_ names: [String]) {
    let sorted = names.map { ByteText($0) }.sorted()
    self.names = sorted
    states = [State](repeating: .unknown, count: sorted.count)
    prefix = Self.folder(sorted.first?.text ?? "", sorted.last?.text ?? "")
    isOver = sorted.count < Self.least
  }

  /// The folder that both names lie below.
  private static func folder(_ one: String, _ other: String) -> String {
    let common = zip(one.utf8, other.utf8).prefix { $0 == $1 }.map(\.0)
    let end = common.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
    return String(decoding: common[..<end], as: UTF8.self)
  }

  /// What is known of a name, or what to ask to know it.
  ///
  /// - Parameter since: older answers don't count; seconds since 1970.
  mutating func step(_ name: String, since time: Double) -> Step {
    guard let index = index(of: ByteText(name)) else { return .told(.untold) }
    if states[index].isKnown(since: time) {
      switch states[index] {
      case .unknown: break
      case .absent: return .told(.absent)
      case .entry(let entry, _): return .told(.entry(entry))
      }
    }
    var first = index
    while first > 0, index - first < Self.before, !states[first - 1].isKnown(since: time) { first -= 1 }
    let unknown = states[first...].prefix(Self.page).count { !$0.isKnown(since: time) }
    if pages >= Self.trials, answers < pages * Self.worthwhile { isOver = true }
    guard !isOver, unknown >= Self.worthwhile else { return .told(.untold) }
    let start = names[first]
    let before = ByteText(String(String.UnicodeScalarView(start.text.unicodeScalars.dropLast())))
    guard let end, before < end, end < start else {
      return .ask(ListedPlace(prefix: prefix, after: before.text))
    }
    return .ask(ListedPlace(prefix: prefix, after: end.text))
  }

  /// - Parameter time: when the page was asked for, seconds since 1970.
  mutating func take(_ page: ListedPage, of place: ListedPlace, at time: Double) {
    // It may have been asked for by the window before, or after, this one.
    guard place.prefix == prefix else { return }
    pages += 1
    var last = ByteText(place.after)
    var next = place.after.isEmpty ? 0 : firstIndex(behind: last)
    for entry in page.entries {
      let name = ByteText(prefix + entry.path)
      guard last < name || last.text.isEmpty else { return distrust() }
      last = name
      while next < names.count, names[next] < name { note(.absent(at: time), &next) }
      while next < names.count, names[next] == name { note(.entry(entry, at: time), &next) }
    }
    guard page.next != nil else {
      while next < names.count { note(.absent(at: time), &next) }
      end = nil
      return
    }
    guard !page.entries.isEmpty else { return distrust() }
    end = last
  }

  /// No page is asked for any more: what is not known is asked for one by one.
  mutating func close() { isOver = true }

  private mutating func note(_ state: State, _ index: inout Int) {
    states[index] = state
    answers += 1
    index += 1
  }

  /// What is out of order may still come: nothing is known to be absent.
  private mutating func distrust() {
    isOver = true
    for index in states.indices {
      if case .absent = states[index] { states[index] = .unknown }
    }
  }

  private func index(of name: ByteText) -> Int? {
    let index = firstIndex { $0 < name }
    return index < names.count && names[index] == name ? index : nil
  }

  private func firstIndex(behind name: ByteText) -> Int { firstIndex { !(name < $0) } }

  /// The first name that is not `before`.
  private func firstIndex(_ before: (ByteText) -> Bool) -> Int {
    var (low, high) = (0, names.count)
    while low < high {
      let middle = (low + high) / 2
      if before(names[middle]) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// Where a page of a listing begins.
struct ListedPlace: Sendable, Hashable {
  var prefix: String
  /// Behind this name.
  var after: String
}
