package import JobModel

/// What a kind of endpoint can do whatever its keys say. Manifest rules, planner, engine and `plan` read it here.
package struct EndpointAbilities: Sendable, Hashable {
  /// Directions in which nothing is moved, and what to do instead.
  package var refused: [Direction: String] = [:]
  /// Names what lies below a prefix.
  package var lists = false
  /// A listing begins behind any name, goes on in the order of the names' bytes, and tells of each object the ETag that an
  /// answer for it has: where many are looked at, one request tells of a page of them.
  package var listsVersions = false
  /// The service writes lists of its objects (S3 Inventory), which can stand for listings.
  package var hasInventories = false
  /// Gives a digest of what was uploaded, or checks one: what `verify: required` needs. A server of a kind may lack what
  /// others have; what it says of itself decides then.
  package var provesUploads = false
  /// An upload can be read back: what `verify: readback` needs. `if_exists` is refused where it can't, as nothing tells
  /// then what is there.
  package var readsBack = false
  /// An ETag says nothing that a known digest of the file does not: reports may leave it out.
  package var digestsReplaceETags = false
  /// What `connections: auto` may come to: stores that are made for it take more than a web server.
  package var mostConnections = 64
  /// Attributes that its objects tell of themselves.
  package var tells: Set<Attribute> = []
  /// Attributes that an upload to it keeps.
  package var keeps: Set<Attribute> = []
  /// The times that it keeps, in seconds since 1970; nil for all.
  package var times: ClosedRange<Int64>?
  /// Its Last-Modified is when an object was stored, whatever the time of the file is that it was made of.
  package var datesStoring = false
  /// `//` in a path may be one `/`, and `..` the folder above, as in a file system.
  package var joinsSlashes = false
  /// What lies at a path is what the server has at its URL, below the endpoint's: an absolute URL names it too.
  package var filesHaveURLs = false
  /// Keys of a transfer that give an object something, and that it takes.
  package var takes: Set<GivenKey> = []

  package init(
    refused: [Direction: String] = [:], lists: Bool = false, listsVersions: Bool = false,
    hasInventories: Bool = false, provesUploads: Bool = false, readsBack: Bool = false,
    digestsReplaceETags: Bool = false,
    mostConnections: Int = 64, tells: Set<Attribute> = [], keeps: Set<Attribute> = [],
    times: ClosedRange<Int64>? = nil, datesStoring: Bool = false, joinsSlashes: Bool = false,
    filesHaveURLs: Bool = false, takes: Set<GivenKey> = []
  ) {
    self.refused = refused
    self.lists = lists
    self.listsVersions = listsVersions
    self.hasInventories = hasInventories
    self.provesUploads = provesUploads
    self.readsBack = readsBack
    self.digestsReplaceETags = digestsReplaceETags
    self.mostConnections = mostConnections
    self.tells = tells
    self.keeps = keeps
    self.times = times
    self.datesStoring = datesStoring
    self.joinsSlashes = joinsSlashes
    self.filesHaveURLs = filesHaveURLs
    self.takes = takes
  }

  /// What an upload to it keeps of these.
  package func keeps(of attributes: ObjectAttributes) -> Set<Attribute> {
    guard let times, let mtime = attributes.mtime, !times.contains(mtime.wholeSeconds) else { return keeps }
    return keeps.subtracting([.mtime])
  }

  /// What it can't be given of this, in the order of the contract.
  package func refused(_ given: GivenAttributes) -> [GivenKey] {
    GivenKey.allCases.filter { given.keys.contains($0) && !takes.contains($0) }
  }
}

extension Int64 {
  /// Of nanoseconds: rounded down, also before 1970.
  package var wholeSeconds: Int64 { self / 1_000_000_000 - (self % 1_000_000_000 < 0 ? 1 : 0) }
}
