import Endpoints

/// The first line is a URL, each further line a Location that answers it.
enum AddressesTarget {
  static func run(_ bytes: [UInt8]) throws {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
    for line in lines {
      try check(WebURL(line))
      try require(WebURL(line) == WebURL(careful: line), "read in two ways: \(line)")
    }
    guard let first = lines.first, let url = WebURL(first) else { return }
    try check(url.appending("a/b"))
    for line in lines.dropFirst() {
      let target = url.resolving(line)
      try check(target)
      if let target, line.utf8.starts(with: "/".utf8), !line.utf8.starts(with: "//".utf8) {
        try require(target.origin == url.origin, "\(line) leads to \(target.origin)")
      }
      let round = WebURL.decode(WebURL.encode(line))
      try require(Array(round.utf8) == Array(line.utf8), "encoding is not undone")
    }
  }

  private static func check(_ url: WebURL?) throws {
    guard let url else { return }
    try require((1...65_535).contains(url.port), "port \(url.port)")
    try require(url.path.utf8.first == UInt8(ascii: "/"), "a path that begins otherwise: \(url.path)")
    try require(!url.host.isEmpty, "no host")
    // By bytes, as curl reads: what ends a host there ends it here.
    let odd = url.host.utf8.first { "/?#@\\ ".utf8.contains($0) || $0 < 32 || $0 == 127 }
    try require(odd == nil, "a host with \(odd ?? 0): \(url.host)")
    try require(!url.path.utf8.contains(UInt8(ascii: "?")), "a query in the path: \(url.path)")
    try require(!(url.path + (url.query ?? "")).utf8.contains(UInt8(ascii: "#")), "a fragment: \(url.text)")
    try require(WebURL(url.text) == url, "not the same twice: \(url.text)")
  }
}
