package import JobModel

/// A job's `limits` as JSON, with the manifest's own key names: in the ledger, in reports and in plans.
package enum JobLimitsJSON {
  /// Null where they cap nothing.
  package static func write(_ limits: JobLimits) -> JSON {
    guard limits != JobLimits() else { return .null }
    let members: JSON = [
      "transfers": limits.transfers.map(PolicyJSON.limit) ?? .null,
      "connections": [
        "total": limits.connectionsTotal.map(PolicyJSON.limit) ?? .null,
        "per_host": limits.connectionsPerHost.map(PolicyJSON.limit) ?? .null,
      ],
      "bandwidth": [
        "download": limits.downloadRate.map(PolicyJSON.rate) ?? .null,
        "upload": limits.uploadRate.map(PolicyJSON.rate) ?? .null,
      ],
      "budget": PolicyJSON.budget(limits.budget),
    ]
    guard let whole = limits.undivided.limits else { return members }
    return .object((members.members ?? []) + [.init("undivided", write(whole))])
  }

  static func read(_ json: JSONText) -> JobLimits {
    func count(_ json: JSONText?, _ name: String) -> FlightLimit? {
      json?.string(name) == "auto" ? .auto : json?.int(name).map(FlightLimit.number)
    }
    var limits = JobLimits()
    limits.transfers = count(json, "transfers")
    limits.connectionsTotal = count(json.object("connections"), "total")
    limits.connectionsPerHost = count(json.object("connections"), "per_host")
    limits.downloadRate = PolicyJSON.readEntryRate(json.object("bandwidth"), "download")
    limits.uploadRate = PolicyJSON.readEntryRate(json.object("bandwidth"), "upload")
    limits.budget = PolicyJSON.readBudget(json)
    if let whole = json.object("undivided") { limits.undivided = .of(read(whole)) }
    return limits
  }
}

extension JobLedger {
  /// The `limits` of the manifest that was opened last.
  package func jobLimits() throws -> JobLimits {
    JobLimitsJSON.read(JSONText(try meta("job_limits") ?? "{}"))
  }

  package func setJobLimits(_ limits: JobLimits) throws {
    try setMeta("job_limits", JobLimitsJSON.write(limits).text)
  }
}

extension Budget {
  /// What the ledger knows the budget of a job's `limits` by: no policy's name has a space.
  package static let jobName = "job limits"
}
