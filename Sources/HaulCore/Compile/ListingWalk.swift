import Endpoints
import HTTPClient
import JobLedger
import JobModel
import Posix

/// Lists one remote prefix into the ledger: page by page, its folders at the same time where that helps, from where an
/// earlier compile was killed on.
struct ListingWalk {
  /// Parts that are listed at a time.
  private static let most = 8
  /// Pages after which a part counts as long: its folders are then listed each by itself.
  private static let patience = 4
  /// More folders than these would cost more requests than they save.
  private static let folders = 2...64

  /// Pages in a row that bring no new name: a store may pass over that many deleted ones, and does not do so for ever.
  private static let idle = 10_000

  let ledger: JobLedger
  let listing: RemoteListing
  let endpoint: Endpoint
  let prefix: String
  let settings: TransferSettings
  let number: Int64

  func run(_ parts: [ListingPart]) async throws {
    var waiting = parts.filter { !$0.isDone }[...]
    try await withThrowingTaskGroup(of: [ListingPart].self) { group in
      var running = 0
      while true {
        while running < Self.most, let part = waiting.popFirst() {
          running += 1
          group.addTask { try await self.list(part) }
        }
        guard let more = try await group.next() else { return }
        running -= 1
        waiting += more
      }
    }
  }

  /// Lists a part to its end, or until others take its place, which are given.
  private func list(_ begun: ListingPart) async throws -> [ListingPart] {
    var part = begun
    var place: ListingPlace =
      part.position.map { isByName ? .after($0) : .mark($0) } ?? .beginning
    // Not every store lists in the order of bytes: `rclone serve s3` does by time.
    var order = NameOrder(last: isByName ? part.position : nil)
    var mayLackNames = isByName && part.position != nil
    var pages = 0
    var (idle, last) = (0, [String]())
    // One that is gone on with was looked at: a folder below one that is divided is not worth another look after each kill.
    let mayDivide = isByName && (begun.position == nil || begun.prefix == prefix)
    while true {
      let page = try await page(place, of: part)
      var names = named(page, in: part)
      order.take(page.entries.map { part.prefix + $0.path })
      if mayLackNames, !order.isAscending {
        // Names that are less than the one it went on from may not have been listed yet.
        (part.position, place, mayLackNames) = (nil, .beginning, false)
        try record(names, part)
        continue
      }
      guard let next = page.next else {
        part.isDone = true
        try record(names, part)
        return []
      }
      guard place != .mark(next) else { throw endless(part, "gave the same mark twice") }
      let ends = [page.entries.first, page.entries.last].compactMap { $0?.path }
      // One and the same page is nothing that a store passes over.
      if ends == last, !ends.isEmpty { idle += Self.idle / 4 }
      // Where a page is a folder, many may be empty.
      guard !isByName || idle < Self.idle else { throw endless(part, "brought nothing new in \(idle) pages") }
      last = ends
      pages += 1
      if mayDivide, order.isAscending, pages == Self.patience,
        let level = try await listing.folders(of: part.prefix, at: endpoint, settings: settings),
        level.next == nil, Self.folders.contains(level.folders.count)
      {
        names += named(level, in: part)
        part.isDone = true
        // Each from its beginning: that names came in order so far does not say that no lesser one comes later.
        let more = level.folders.map { [prefix = part.prefix] in ListingPart(prefix: prefix + $0) }
        try record(names, part, more)
        return more
      }
      part.position = !isByName ? next : order.isAscending ? order.last : nil
      if try record(names, part) { idle = 0 } else { idle += 1 }
      place = .mark(next)
    }
  }

  private func endless(_ part: ListingPart, _ what: String) -> Failure {
    Failure(
      .protocolViolation, "the listing of `\(part.prefix)` \(what): it would never end", class: .permanent)
  }

  /// A part goes on behind a name; else at the server's mark.
  private var isByName: Bool { endpoint.driver.abilities.listsVersions }

  /// - Throws: `Failure`. A mark may lead to a folder that has gone: the listing is forgotten then, and the next compile
  ///   lists anew.
  private func page(_ place: ListingPlace, of part: ListingPart) async throws -> ListedPage {
    do {
      return try await listing.page(
        place, of: part.prefix, hasBegun: place != .beginning || part.prefix != prefix, at: endpoint,
        settings: settings)
    } catch let failure as Failure {
      if !isByName, place != .beginning, [.notFound, .protocolViolation, .internal].contains(failure.code) {
        try ledger.forgetListing(number)
      }
      throw failure
    }
  }

  private func named(_ page: ListedPage, in part: ListingPart) -> [ListedName] {
    let below = String(decoding: part.prefix.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    return page.entries.map {
      ListedName(path: below + $0.path, size: $0.size, modified: $0.modified, nonFile: $0.nonFile)
    }
  }

  @discardableResult
  private func record(
    _ names: [ListedName], _ part: ListingPart, _ more: [ListingPart] = []
  ) throws -> Bool {
    try ledger.record(names, in: number, part, more: more, now: SystemClock.now)
  }
}

/// Whether names come in the order of their bytes, page by page.
struct NameOrder {
  /// The last name; nil before the first.
  private(set) var last: String?
  private(set) var isAscending = true

  init(last: String?) { self.last = last }

  mutating func take(_ names: [String]) {
    for name in names {
      if let last, ByteText(name) < ByteText(last) { isAscending = false }
      last = name
    }
  }
}
