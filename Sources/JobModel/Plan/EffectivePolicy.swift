/// A policy with every key decided: the built-in values, overlaid level by level.
package struct EffectivePolicy: Sendable, Hashable {
  package var transfers = FlightLimit.auto
  package var chunksInFlight = 4
  /// `chunks_in_flight` is written: so many are begun at once.
  package var keepsChunksInFlight = false
  package var connectionsTotal = FlightLimit.auto
  package var connectionsPerHost = FlightLimit.auto
  package var downloadRate = Rate.unlimited
  package var uploadRate = Rate.unlimited
  package var timezone: String?
  package var schedule: [ScheduleEntry] = []
  package var window: [TimeWindow] = []
  package var deadline: Double?
  package var budget: Budget?
  package var failFastFailures: Int?
  package var failFastShare: Double?
  package var connectTimeout = 10.0
  package var requestTimeout = 60.0
  package var stallTimeout = 30.0
  package var retryAttempts = 8
  package var retryInitial = 0.5
  package var retryMax = 60.0
  package var retryMultiplier = 2.0
  package var retryJitter = Jitter.full
  package var minFree: Int64 = 0
  package var metered = Metered.allow
  package var interface: String?
  package var allowedHosts: [String] = []
  package var deniedHosts: [String] = []
  package var deniedAddresses: [String] = []
  package var ip = IPFamily.any
  package var proxy = ProxySetting.environment
  package var tlsMinVersion = TLSVersion.v1_2
  package var caFile: String?
  package var clientCertificate: String?
  package var clientKey: String?
  package var pinnedKeys: [String] = []
  package var insecure = false
  package var httpVersion = HTTPVersionSetting.auto
  package var redirects = 5
  package var userAgent: String?
  package var headers: [HeaderSetting] = []
  /// Where these are one part's: the policy of the whole job.
  package var undivided = Undivided<EffectivePolicy>.asTheyAre

  package init() {}

  /// Lays one level over this one: a key that the level writes wins, the others stay.
  package mutating func overlay(_ level: Policy) {
    func take<Value>(_ path: WritableKeyPath<EffectivePolicy, Value>, _ value: Value?) {
      if let value { self[keyPath: path] = value }
    }
    func takeOptional<Value>(_ path: WritableKeyPath<EffectivePolicy, Value?>, _ value: Value?) {
      if let value { self[keyPath: path] = value }
    }
    take(\.transfers, level.transfers)
    take(\.chunksInFlight, level.chunksInFlight)
    if level.chunksInFlight != nil { keepsChunksInFlight = true }
    take(\.connectionsTotal, level.connectionsTotal)
    take(\.connectionsPerHost, level.connectionsPerHost)
    take(\.downloadRate, level.downloadRate)
    take(\.uploadRate, level.uploadRate)
    takeOptional(\.timezone, level.timezone)
    take(\.schedule, level.schedule)
    take(\.window, level.window)
    takeOptional(\.deadline, level.deadline)
    takeOptional(\.budget, level.budget)
    takeOptional(\.failFastFailures, level.failFastFailures)
    takeOptional(\.failFastShare, level.failFastShare)
    take(\.connectTimeout, level.connectTimeout)
    take(\.requestTimeout, level.requestTimeout)
    take(\.stallTimeout, level.stallTimeout)
    take(\.retryAttempts, level.retryAttempts)
    take(\.retryInitial, level.retryInitial)
    take(\.retryMax, level.retryMax)
    take(\.retryMultiplier, level.retryMultiplier)
    take(\.retryJitter, level.retryJitter)
    take(\.minFree, level.minFree)
    take(\.metered, level.metered)
    takeOptional(\.interface, level.interface)
    take(\.allowedHosts, level.allowedHosts)
    take(\.deniedHosts, level.deniedHosts)
    take(\.deniedAddresses, level.deniedAddresses)
    take(\.ip, level.ip)
    take(\.proxy, level.proxy)
    take(\.tlsMinVersion, level.tlsMinVersion)
    takeOptional(\.caFile, level.caFile)
    takeOptional(\.clientCertificate, level.clientCertificate)
    takeOptional(\.clientKey, level.clientKey)
    take(\.pinnedKeys, level.pinnedKeys)
    take(\.insecure, level.insecure)
    take(\.httpVersion, level.httpVersion)
    take(\.redirects, level.redirects)
    takeOptional(\.userAgent, level.userAgent)
    headers = HeaderSetting.overlay(level.headers ?? [], over: headers)
  }
}
