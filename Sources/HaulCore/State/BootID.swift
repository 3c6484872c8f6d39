import Foundation

/// The id of this boot (proc(5), random/boot_id): what was written but not synced in another one is doubtful.
enum BootID {
  static let current: String = {
    let text = (try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)) ?? "unknown"
    return text.trimmingCharacters(in: .whitespacesAndNewlines)
  }()
}
