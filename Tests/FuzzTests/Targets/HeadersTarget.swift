import Endpoints
import JobModel

/// `STATUS FIRST END SIZE ETAG`, then header lines: the head of an answer, and what was asked and known before.
enum HeadersTarget {
  static func run(_ bytes: [UInt8]) throws {
    let message = Message(bytes)
    var headers = HeaderList()
    for field in message.fields {
      headers.append(field.name, field.value)
      try values(field.value)
    }
    let head = ResponseHead(status: Int(message.number(0) ?? 206), headers: headers)
    var wanted: Range<Int64>?
    if let first = message.number(1), let end = message.number(2), first >= 0, first < end,
      end <= ByteCount.limit
    {
      wanted = first..<end
    }
    var object = RemoteObject()
    object.size = message.number(3).flatMap { (0...ByteCount.limit).contains($0) ? $0 : nil }
    object.etag = message.start.count > 4 ? message.start[4] : nil
    try judge(head, wanted, object)
  }

  private static func judge(_ head: ResponseHead, _ wanted: Range<Int64>?, _ object: RemoteObject) throws {
    let url = try require(WebURL("http://h/f"), "no URL")
    let seen = ObjectFacts.read(head, now: 1_700_000_000)
    switch RangeResponse.judge(
      head, wanted: wanted, object: object, seen: seen, url: url, now: 1_700_000_000)
    {
    case .bytes(let range), .untied(let range, _):
      let wanted = try require(wanted, "a range that nobody asked for")
      try require(head.status == 206, "a range of status \(head.status)")
      try require(!range.isEmpty && range.lowerBound == wanted.lowerBound, "\(range) for \(wanted)")
      try require(range.upperBound <= wanted.upperBound, "\(range) for \(wanted)")
      if let size = object.size { try require(range.upperBound <= size, "\(range) of \(size)") }
    case .whole(let length):
      try require(head.status == 200, "the whole of status \(head.status)")
      if let size = object.size, let length { try require(size == length, "\(length) of \(size)") }
    case .nothing(let size):
      try require(head.status == 416 && size >= 0, "nothing of \(size), status \(head.status)")
      if let wanted { try require(wanted.lowerBound >= size, "nothing at \(wanted) of \(size)") }
      if let known = object.size { try require(known == size, "\(size) of \(known)") }
    case .changed(let seen): try check(seen)
    case .refused(let failure): try check(failure)
    }
    try check(seen)
    if case .success(let seen) = HTTPDownload(url: url).probed(
      Response(head: head, url: url), now: 1_700_000_000)
    {
      try check(seen)
    }
  }

  static func check(_ object: RemoteObject) throws {
    if let size = object.size { try require((0...ByteCount.limit).contains(size), "a size of \(size)") }
    for (algorithm, digest) in object.digests {
      try require(
        digest.utf8.count == algorithm.hexLength
          && digest.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) },
        "\(algorithm): \(digest)")
    }
    if let name = object.fileName { try fileName(name) }
  }

  static func check(_ failure: Failure) throws {
    if let wait = failure.retryAfter { try require(wait.isFinite && wait >= 0, "Retry-After of \(wait)") }
    try require(!failure.message.isEmpty, "a failure without words")
  }

  private static func fileName(_ name: String) throws {
    guard let safe = ContentDisposition.sanitised(name) else { return }
    let bytes = Array(safe.utf8)
    try require((1...255).contains(bytes.count), "a name of \(bytes.count) bytes")
    try require(
      !bytes.contains { $0 < 32 || $0 == 127 || $0 == 47 || $0 == 92 }, "a name with control: \(bytes)")
    try require(bytes.first != UInt8(ascii: "."), "a hidden name: \(safe)")
    try require(ContentDisposition.sanitised(safe) == safe, "not the same twice: \(safe)")
  }

  /// Each value, as whatever header it may be.
  private static func values(_ text: String) throws {
    if let told = ContentRange(text) {
      if let total = told.total { try require((0...ByteCount.limit).contains(total), "a total of \(total)") }
      if let range = told.range {
        try require(!range.isEmpty && range.lowerBound >= 0, "\(range)")
        try require(range.upperBound <= told.total ?? .max, "\(told)")
      } else {
        try require(told.total != nil, "nothing told")
      }
    }
    if let seconds = HTTPDate.seconds(text) { try require(seconds.isFinite, "a date of \(seconds)") }
    if let seconds = Timestamp.seconds(text) {
      try require(seconds.isFinite, "a time of \(seconds)")
      _ = Timestamp.text(seconds)
    }
    if let wait = HTTPFailure.retryAfter(["Retry-After": text], now: 1_700_000_000) {
      try require(wait.isFinite && wait >= 0, "Retry-After of \(wait)")
    }
    if let name = ContentDisposition.fileName(text) { try fileName(name) }
    try fileName(text)
    try fileName(WebURL.decode(text))
    for name in ["Digest", "Content-Digest", "Repr-Digest", "Content-MD5"] {
      try check(ObjectFacts.read(ResponseHead(status: 200, headers: [name: text]), now: 0))
    }
  }
}
