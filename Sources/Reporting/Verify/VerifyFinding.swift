package import JobModel

/// A transfer that `haul verify` could not call verified: one element of `findings` in `haul.verify/v1`.
package struct VerifyFinding: Sendable, Hashable {
  package let id: String
  /// Without secrets.
  package let place: String
  package let comparison: Comparison

  /// - Returns: nil for a transfer that is verified.
  package init?(id: String, place: String, _ comparison: Comparison) {
    if case .verified = comparison { return nil }
    (self.id, self.place, self.comparison) = (id, place, comparison)
  }

  package var json: JSON {
    var (result, check, reason): (JSON, JSON, JSON) = ("unverifiable", .null, .null)
    var (expected, actual): (JSON, JSON) = (.null, .null)
    switch comparison {
    case .verified: break
    case .different(let what, let recorded, let found):
      (result, check, expected, actual) = ("different", .string(what), .text(recorded), .text(found))
    case .unverifiable(let why, _): reason = .string(why)
    }
    return [
      "id": .string(id), "place": .string(place), "result": result, "check": check, "expected": expected,
      "actual": actual, "reason": reason,
    ]
  }

  /// Reads what `json` wrote; nil for anything else.
  package init?(_ json: JSON) {
    guard let id = json["id"].string, let place = json["place"].string else { return nil }
    switch json["result"].string {
    case "different":
      guard let check = json["check"].string else { return nil }
      self.init(
        id: id, place: place,
        .different(check: check, expected: json["expected"].string, actual: json["actual"].string))
    case "unverifiable":
      guard let reason = json["reason"].string else { return nil }
      self.init(id: id, place: place, .unverifiable(reason: reason))
    default: return nil
    }
  }

  /// The line of a difference; nil for what could not be compared, which is counted by its reason.
  package var text: String? {
    guard case .different(let check, let expected, let actual) = comparison else { return nil }
    let what =
      switch (expected, actual) {
      case (let expected?, let actual?): "\(check) is \(actual), on record is \(expected)"
      case (let expected?, nil): "\(check), on record is \(expected)"
      case (nil, let actual?): "\(check) is \(actual)"
      case (nil, nil): check
      }
    return DisplayText.safe("different: \(id): \(place): \(Masking.text(what))") + "\n"
  }
}
