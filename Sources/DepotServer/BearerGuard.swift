import HTTPTypes

/// Lets only requests with the right bearer token (RFC 6750) through.
struct BearerGuard: Sendable {
  let token: [UInt8]

  func check(_ headers: HTTPFields) throws {
    let words = (headers[.authorization] ?? "").split(separator: " ", maxSplits: 1)
    if words.count == 2, words[0].lowercased() == "bearer", isToken(Array(words[1].utf8)) { return }
    var problem = Problem(401, "UNAUTHORIZED", "this depot wants its bearer token in Authorization")
    problem.headers[.wwwAuthenticate] = "Bearer realm=\"depot\""
    throw problem
  }

  /// Takes as long for a wrong token as for the right one.
  private func isToken(_ given: [UInt8]) -> Bool {
    var difference = UInt8(given.count == token.count ? 0 : 1)
    for (index, byte) in given.enumerated() { difference |= byte ^ token[index % token.count] }
    return difference == 0
  }
}
