import JobModel
import Posix

/// The id of this boot (proc(5), random/boot_id): what was written but not synced in another one is doubtful.
enum BootID {
  static let current: String = {
    guard let bytes = try? Files.read("/proc/sys/kernel/random/boot_id") else { return "unknown" }
    return String(decoding: bytes, as: UTF8.self).trimmed(\.isWhitespace)
  }()
}
