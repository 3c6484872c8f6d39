import JobLedger
import JobModel

extension LedgerTransfer {
  /// The failure that keeps the transfer where it is; one that a later state has overtaken does not count.
  var standingFailure: Failure? {
    switch state {
    case .failed, .paused(.retries), .paused(.disk), .skipped(.needs): progress.failure
    case .queued, .running, .paused, .completed, .upToDate, .canceled, .skipped: nil
    }
  }
}

extension EffectivePolicy {
  /// The policy as a report may show it: headers whose names speak of secrets and a proxy's password are masked.
  var masked: EffectivePolicy {
    var policy = self
    switch proxy {
    case .url(let address): policy.proxy = .url(Masking.proxy(address))
    case .login(let address, _, _): policy.proxy = .url(address)
    case .environment, .none: break
    }
    policy.headers = headers.map { header in
      let name = header.name.lowercased()
      let carriesSecret = Self.secretWords.contains { name.contains($0) }
      guard carriesSecret, case .text = header.value else { return header }
      return HeaderSetting(name: header.name, value: .text("***"))
    }
    return policy
  }

  private static let secretWords = ["auth", "cookie", "token", "secret", "key", "password"]
}
