extension Policy {
  /// Lays another level over this one, key by key.
  package mutating func overlay(_ level: Policy) {
    func take<Value>(_ path: WritableKeyPath<Policy, Value?>) {
      if let value = level[keyPath: path] { self[keyPath: path] = value }
    }
    take(\.transfers)
    take(\.chunksInFlight)
    take(\.connectionsTotal)
    take(\.connectionsPerHost)
    take(\.downloadRate)
    take(\.uploadRate)
    take(\.timezone)
    take(\.schedule)
    take(\.window)
    take(\.deadline)
    take(\.budget)
    take(\.failFastFailures)
    take(\.failFastShare)
    take(\.connectTimeout)
    take(\.requestTimeout)
    take(\.stallTimeout)
    take(\.retryAttempts)
    take(\.retryInitial)
    take(\.retryMax)
    take(\.retryMultiplier)
    take(\.retryJitter)
    take(\.minFree)
    take(\.metered)
    take(\.interface)
    take(\.allowedHosts)
    take(\.deniedHosts)
    take(\.deniedAddresses)
    take(\.ip)
    take(\.proxy)
    take(\.tlsMinVersion)
    take(\.caFile)
    take(\.clientCertificate)
    take(\.clientKey)
    take(\.pinnedKeys)
    take(\.insecure)
    take(\.httpVersion)
    take(\.redirects)
    take(\.userAgent)
    if let upper = level.headers { headers = HeaderSetting.overlay(upper, over: headers ?? []) }
  }
}
