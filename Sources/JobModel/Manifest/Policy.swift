/// A network policy as one level of a manifest writes it: a nil key is inherited.
package struct Policy: Sendable, Hashable {
  package var transfers: FlightLimit?
  package var chunksInFlight: Int?
  package var connectionsTotal: FlightLimit?
  package var connectionsPerHost: FlightLimit?
  /// Bytes a second; `.unlimited` overrides an inherited limit.
  package var downloadRate: Rate?
  package var uploadRate: Rate?
  /// An IANA zone name.
  package var timezone: String?
  package var schedule: [ScheduleEntry]?
  package var window: [TimeWindow]?
  /// Seconds from the attempt's start.
  package var deadline: Double?
  package var budget: Budget?
  package var failFastFailures: Int?
  /// 0 ... 1.
  package var failFastShare: Double?
  package var connectTimeout: Double?
  package var requestTimeout: Double?
  package var stallTimeout: Double?
  package var retryAttempts: Int?
  package var retryInitial: Double?
  package var retryMax: Double?
  package var retryMultiplier: Double?
  package var retryJitter: Jitter?
  package var minFree: Int64?
  package var metered: Metered?
  package var interface: String?
  package var allowedHosts: [String]?
  package var deniedHosts: [String]?
  package var deniedAddresses: [String]?
  package var ip: IPFamily?
  package var proxy: ProxySetting?
  package var tlsMinVersion: TLSVersion?
  /// Absolute paths.
  package var caFile: String?
  package var clientCertificate: String?
  package var clientKey: String?
  package var pinnedKeys: [String]?
  package var insecure: Bool?
  package var httpVersion: HTTPVersionSetting?
  package var redirects: Int?
  package var userAgent: String?
  package var headers: [HeaderSetting]?

  package init() {}
}

/// The order of the cases is that of the rates.
package enum Rate: Sendable, Hashable, Comparable {
  /// Bytes a second, at least 1.
  case bytesPerSecond(Int64)
  case unlimited
}

/// `retry.jitter`: whether delays are spread at random.
package enum Jitter: String, Sendable, Hashable, CaseIterable { case full, none }

/// `network.metered`: what a run does on a metered connection.
package enum Metered: String, Sendable, Hashable, CaseIterable { case pause, allow }
package enum IPFamily: String, Sendable, Hashable, CaseIterable {
  case any
  case v4 = "4"
  case v6 = "6"
}
package enum ProxySetting: Sendable, Hashable {
  case environment
  case none
  case url(String)
  /// One that asks who is there.
  case login(url: String, user: String, password: SecretReference)
}
package enum TLSVersion: String, Sendable, Hashable, CaseIterable {
  case v1_0 = "1.0"
  case v1_1 = "1.1"
  case v1_2 = "1.2"
  case v1_3 = "1.3"
}
package enum HTTPVersionSetting: String, Sendable, Hashable, CaseIterable {
  case auto
  case v1_1 = "1.1"
  case v2 = "2"
}

package enum Weekday: String, Sendable, Hashable, CaseIterable { case mon, tue, wed, thu, fri, sat, sun }

/// Hours of some days; `to` before or at `from` crosses midnight. Minutes since midnight, 0 ... 1440.
package struct TimeWindow: Sendable, Hashable {
  package var days: Set<Weekday>
  package var from: Int
  package var to: Int
  package init(days: Set<Weekday> = Set(Weekday.allCases), from: Int, to: Int) {
    self.days = days
    self.from = from
    self.to = to
  }
}

/// Rates that hold within a window.
package struct ScheduleEntry: Sendable, Hashable {
  package var window: TimeWindow
  /// Nil: the policy's `bandwidth`.
  package var download: Rate?
  package var upload: Rate?
  package init(window: TimeWindow, download: Rate?, upload: Rate?) {
    self.window = window
    self.download = download
    self.upload = upload
  }
}

/// `budget`: bytes that may be moved in a calendar period.
package struct Budget: Sendable, Hashable {
  package enum Period: String, Sendable, Hashable, CaseIterable { case day, week, month }
  package var bytes: Int64
  package var period: Period
  package init(bytes: Int64, period: Period) {
    self.bytes = bytes
    self.period = period
  }

  /// The smaller one of a policy's and the job's.
  package static func least(_ one: Budget?, _ other: Budget?) -> Budget? {
    [one, other].compactMap(\.self).min { $0.bytes < $1.bytes }
  }
}
