import Foundation
import Locks

/// NetworkManager's word on whether the connection is metered, asked over D-Bus by busctl(1) now and then.
///
/// The property `Metered` of `org.freedesktop.NetworkManager` (NMMetered: 1 and 3 say yes, 2 and 4 no, 0 unknown).
final class Metering: Sendable {
  /// Between two questions.
  private static let interval = 5.0
  private struct State {
    var value: Bool?
    var next = 0.0
    var isAsking = false
    var hasRemarked = false
  }
  private let state = Locked(State())
  private let remark: @Sendable (String) -> Void

  /// - Parameter remark: told once where nobody knows.
  init(remark: @escaping @Sendable (String) -> Void) {
    self.remark = remark
    // The first answer counts before the first transfer.
    ask()
  }

  /// What was known last; nil where nobody knows. Asks again in the background where that is old.
  var current: Bool? {
    let (value, isDue) = state.withLock { state in
      let isDue = !state.isAsking && ProcessInfo.processInfo.systemUptime >= state.next
      if isDue { state.isAsking = true }
      return (state.value, isDue)
    }
    if isDue { Thread.detachNewThread { self.ask() } }
    return value
  }

  private func ask() {
    let answer = Self.read()
    let isNews = state.withLock { state in
      state.value = answer
      state.next = ProcessInfo.processInfo.systemUptime + Self.interval
      state.isAsking = false
      defer { if answer == nil { state.hasRemarked = true } }
      return answer == nil && !state.hasRemarked
    }
    if isNews {
      remark(
        "whether the connection is metered can't be told (no answer from NetworkManager): taken as not metered"
      )
    }
  }

  private static func read() -> Bool? {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    let name = "org.freedesktop.NetworkManager"
    process.arguments = [
      "busctl", "--system", "--timeout=2", "get-property", name, "/org/freedesktop/NetworkManager", name,
      "Metered",
    ]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { return nil }
    // `u 2`
    switch String(decoding: data, as: UTF8.self).split(whereSeparator: \.isWhitespace).last {
    case "1", "3": return true
    case "2", "4": return false
    default: return nil
    }
  }
}
