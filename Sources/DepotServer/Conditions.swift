import HTTPTypes

/// A request's preconditions against a file's validators, in the order of RFC 9110, 13.2.2.
struct Conditions {
  enum Verdict: Equatable {
    case proceed
    case notModified
    case failed
  }

  let headers: HTTPFields
  let etag: String?
  /// Seconds since 1970.
  let modified: Int

  func verdict(now: Int = HTTPDate.now) -> Verdict {
    if let match = headers[.ifMatch] {
      if !names(match, weakly: false) { return .failed }
    } else if let date = headers[.ifUnmodifiedSince].flatMap(HTTPDate.parse), modified > date {
      return .failed
    }
    if let none = headers[.ifNoneMatch] {
      if names(none, weakly: true) { return .notModified }
    } else if let date = headers[.ifModifiedSince].flatMap(HTTPDate.parse), modified <= date {
      return .notModified
    }
    return .proceed
  }

  /// Whether `If-Range` lets the range stand: absent, our strong tag, or our date where it is a strong validator.
  func rangeStands(now: Int = HTTPDate.now) -> Bool {
    guard let condition = headers[.ifRange] else { return true }
    if condition.hasPrefix("\"") { return condition == etag }
    guard let date = HTTPDate.parse(condition) else { return false }
    return date == modified && modified + 1 <= now
  }

  private func names(_ list: String, weakly: Bool) -> Bool {
    if list == "*" { return true }
    return list.split(separator: ",").contains { entry in
      var tag = entry.drop { $0 == " " || $0 == "\t" }
      while tag.last == " " || tag.last == "\t" { tag.removeLast() }
      if weakly, tag.hasPrefix("W/") { tag = tag.dropFirst(2) }
      return String(tag) == etag
    }
  }
}
