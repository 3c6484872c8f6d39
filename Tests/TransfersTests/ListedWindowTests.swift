import Endpoints
import JobModel
import Testing

@testable import Transfers

/// What pages of a listing tell of names that are looked at.
struct ListedWindowTests {
  private static let names = (100..<200).map { "d/f\($0)" }

  private func page(_ numbers: some Sequence<Int>, goesOn: Bool = false, size: Int64 = 1) -> ListedPage {
    ListedPage(
      entries: numbers.map { ListedPage.Entry(path: "f\($0)", size: size, etag: "\"\($0)\"") },
      next: goesOn ? "more" : nil)
  }

  private func told(_ number: Int, size: Int64 = 1) -> ListedWindow.Step {
    .told(.entry(ListedPage.Entry(path: "f\(number)", size: size, etag: "\"\(number)\"")))
  }

  private func ask(_ after: String) -> ListedWindow.Step { .ask(ListedPlace(prefix: "d/", after: after)) }

  @Test func pagesAreAskedForAsNamesAre() {
    var window = ListedWindow(Self.names.reversed())
    #expect(window.prefix == "d/" && window.step("d/f120", since: 0) == ask("d/f10"))
    window.take(page(100..<140, goesOn: true), of: ListedPlace(prefix: "d/", after: "d/f10"), at: 5)
    #expect(window.step("d/f120", since: 0) == told(120) && window.step("d/f139", since: 5) == told(139))
    // The next page begins just before the first name that is not known.
    #expect(window.step("d/f150", since: 0) == ask("d/f14"))
    window.take(page([145, 150]), of: ListedPlace(prefix: "d/", after: "d/f14"), at: 6)
    #expect(window.step("d/f150", since: 0) == told(150) && window.step("d/f144", since: 0) == .told(.absent))
    #expect(window.step("d/f199", since: 0) == .told(.absent), "the listing has ended")
    #expect(window.step("d/f", since: 0) == .told(.untold) && window.step("d/f9", since: 0) == .told(.untold))
  }

  /// The windows of a plan share what is asked for: names below another prefix are not this window's.
  @Test func aPageOfAnotherPrefixTellsNothing() {
    var window = ListedWindow(Self.names)
    window.take(page(100..<200), of: ListedPlace(prefix: "", after: ""), at: 5)
    #expect(window.step("d/f150", since: 0) == ask("d/f10"))
  }

  @Test func answersGrowOld() {
    var window = ListedWindow(Self.names)
    let place = ListedPlace(prefix: "d/", after: "d/f10")
    window.take(page(100..<200), of: place, at: 5)
    #expect(window.step("d/f150", since: 5) == told(150))
    #expect(window.step("d/f150", since: 5.1) == .ask(place))
    window.take(page(100..<200, size: 2), of: place, at: 6)
    #expect(window.step("d/f150", since: 5.1) == told(150, size: 2))
  }

  /// Few names are looked at one by one.
  @Test(arguments: [(11, false), (12, true)]) func fewNames(_ count: Int, _ asks: Bool) {
    var window = ListedWindow(Array(Self.names.prefix(count)))
    #expect((window.step("d/f100", since: 0) == ask("d/f10")) == asks)
    #expect(window.isOver != asks)
  }

  @Test(
    arguments: [
      // Out of order, twice the same, before where it was to begin.
      [100, 130, 120, 140], [100, 100, 130], [7, 100, 130],
    ]) func aListingOutOfOrderEnds(_ numbers: [Int])
  {
    var window = ListedWindow(Self.names)
    window.take(page(numbers), of: ListedPlace(prefix: "d/", after: "d/f10"), at: 1)
    #expect(window.isOver)
    // What was listed is there; what was not may be.
    if numbers[0] == 100 { #expect(window.step("d/f100", since: 0) == told(100)) }
    for number in [101, 120, 150, 199] {
      #expect(window.step("d/f\(number)", since: 0) == .told(.untold), "\(number)")
    }
  }

  @Test func aListingThatGoesNowhereEnds() {
    var window = ListedWindow(Self.names)
    window.take(page([], goesOn: true), of: ListedPlace(prefix: "d/", after: "d/f10"), at: 1)
    #expect(window.isOver && window.step("d/f100", since: 0) == .told(.untold))
  }

  /// Names of others lie between: four pages that tell of next to nothing are enough.
  @Test func aSparseListingEnds() {
    var window = ListedWindow(Self.names)
    var pages = 0
    while case .ask(let place) = window.step("d/f100", since: 0) {
      pages += 1
      let entries = [ListedPage.Entry(path: "f10!\(pages)", size: 1)]
      window.take(ListedPage(entries: entries, next: "more"), of: place, at: 1)
    }
    #expect(pages == 4 && window.isOver)
  }

  /// By bytes, as stores order them: two ways to write one character are two names.
  @Test func namesAreBytes() {
    let names = ["\u{e9}", "e\u{301}"] + Self.names
    var window = ListedWindow(names)
    #expect(window.prefix == "")
    let entries = [ListedPage.Entry(path: "e\u{301}", size: 1), ListedPage.Entry(path: "\u{e9}", size: 2)]
    window.take(ListedPage(entries: entries), of: ListedPlace(prefix: "", after: ""), at: 1)
    #expect(window.step("\u{e9}", since: 0) == .told(.entry(entries[1])))
    #expect(window.step("e\u{301}", since: 0) == .told(.entry(entries[0])))
    #expect(window.step("d/f150", since: 0) == .told(.absent))
  }

  @Test(
    arguments: [
      (1, "\"a\"", nil, true), (2, "\"a\"", nil, false), (1, "\"b\"", nil, false), (nil, "\"a\"", nil, false),
      (1, nil, nil, false), (1, "\"a\"", 784_111_777.9, true), (1, "\"a\"", 784_111_778, false),
    ] as [(Int64?, String?, Double?, Bool)])
  func vouching(_ size: Int64?, _ etag: String?, _ modified: Double?, _ expected: Bool) {
    var known = RemoteObject()
    (known.size, known.etag) = (1, "\"a\"")
    known.lastModified = "Sun, 06 Nov 1994 08:49:37 GMT"
    let entry = ListedPage.Entry(path: "f", size: size, etag: etag, modified: modified)
    #expect(entry.vouches(for: known) == expected)
    known.etag = nil
    #expect(!entry.vouches(for: known), "nothing is on record to compare with")
  }
}
