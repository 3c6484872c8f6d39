import HTTPTypes

/// One rule of the fault file: which requests, how often, what happens.
struct FaultRule: Sendable, Decodable {
  /// Which requests a rule is about; what is left out matches all.
  struct Match: Sendable, Decodable {
    var method: String?
    /// A glob over the path as it was sent, without the query: `*` is anything, `?` one character.
    var path: String?
    /// Header names to globs; an absent header doesn't match.
    var header: [String: String]?

    private enum Key: String, CodingKey, CaseIterable { case method, path, header }

    init(from decoder: any Decoder) throws {
      try StrictKeys.check(decoder, known: Key.allCases.map(\.rawValue))
      let box = try decoder.container(keyedBy: Key.self)
      method = try box.decodeIfPresent(String.self, forKey: .method)
      path = try box.decodeIfPresent(String.self, forKey: .path)
      header = try box.decodeIfPresent([String: String].self, forKey: .header)
    }

    func matches(_ head: HTTPRequest) -> Bool {
      if let method, method.uppercased() != head.method.rawValue { return false }
      let target = (head.path ?? "").prefix { $0 != "?" }
      if let path, !Glob.matches(path, String(target)) { return false }
      return (header ?? [:]).allSatisfy { name, pattern in
        guard let name = HTTPField.Name(name), let value = head.headerFields[name] else { return false }
        return Glob.matches(pattern, value)
      }
    }
  }

  var match: Match?
  /// Let this many matching requests pass first.
  var skip: Int
  /// Then apply to this many; nil: to all.
  var times: Int?
  var action: FaultAction

  private enum Key: String, CodingKey, CaseIterable { case match, skip, times, action }

  init(from decoder: any Decoder) throws {
    try StrictKeys.check(decoder, known: Key.allCases.map(\.rawValue))
    let box = try decoder.container(keyedBy: Key.self)
    match = try box.decodeIfPresent(Match.self, forKey: .match)
    skip = try box.decodeIfPresent(Int.self, forKey: .skip) ?? 0
    times = try box.decodeIfPresent(Int.self, forKey: .times)
    for (key, count) in [(Key.skip, skip), (.times, times ?? 0)] where count < 0 {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: box, debugDescription: "\(key.rawValue): expected 0 or more, not \(count)")
    }
    action = try box.decode(FaultAction.self, forKey: .action)
  }
}
