package import Foundation
import Glibc
import Synchronization

/// Watches destinations while a job runs: whenever one is touched, its content must be one whole version.
///
/// The kernel tells of every name that appears and of every write (inotify(7)), so nothing is missed between looks.
package final class Witness: Sendable {
  private struct Seen {
    var looks = 0
    var faults: [String] = []
  }
  private let allowed: [String: [Data]]
  private let descriptor: Int32
  private let folders: [Int32: String]
  private let seen = Mutex(Seen())
  private let isOver = Atomic<Bool>(false)
  private let ended = DispatchSemaphore(value: 0)

  /// - Parameter allowed: by absolute path, the versions that may stand there.
  package init(_ allowed: [String: [Data]]) throws {
    self.allowed = allowed
    descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard descriptor >= 0 else { throw TestFault("no inotify: errno \(errno)") }
    var folders: [Int32: String] = [:]
    let parents = allowed.keys.map { String($0.prefix(upTo: $0.lastIndex(of: "/") ?? $0.startIndex)) }
    for folder in Set(parents) {
      let mask = UInt32(IN_CREATE | IN_MODIFY | IN_MOVED_TO | IN_CLOSE_WRITE)
      let watch = inotify_add_watch(descriptor, folder, mask)
      guard watch >= 0 else { throw TestFault("`\(folder)` can't be watched: errno \(errno)") }
      folders[watch] = folder
    }
    self.folders = folders
    let thread = Thread { [self] in watch() }
    thread.name = "witness"
    thread.start()
  }

  /// Looks at every destination once more and ends the watch.
  ///
  /// - Returns: how often a destination was looked at, and what was seen that must not be.
  package func end() -> (looks: Int, faults: [String]) {
    isOver.store(true, ordering: .relaxed)
    ended.wait()
    for path in allowed.keys { look(path, "at the end") }
    return seen.withLock { ($0.looks, $0.faults) }
  }

  deinit { close(descriptor) }

  private func watch() {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let wasOver = isOver.load(ordering: .relaxed)
      let count = read(descriptor, &buffer, buffer.count)
      if count > 0 {
        buffer.withUnsafeBytes { take(UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
      } else if wasOver {
        ended.signal()
        return
      } else {
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        Glibc.poll(&poll, 1, 100)
      }
    }
  }

  private func take(_ bytes: UnsafeRawBufferPointer) {
    var offset = 0
    while offset + 16 <= bytes.count {
      let watch = bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)
      let mask = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
      let length = Int(bytes.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
      let name = String(
        decoding: bytes[(offset + 16)..<(offset + 16 + length)].prefix { $0 != 0 }, as: UTF8.self)
      offset += 16 + length
      guard mask & UInt32(IN_Q_OVERFLOW) == 0 else {
        note("the watch lost events")
        continue
      }
      guard let folder = folders[watch], allowed[folder + "/" + name] != nil else { continue }
      if mask & UInt32(IN_MODIFY) != 0 { note("`\(name)` was written in its place") }
      look(folder + "/" + name, "on event \(String(mask, radix: 16))")
    }
  }

  private func look(_ path: String, _ when: String) {
    seen.withLock { $0.looks += 1 }
    // One open file is one version, whatever takes its name meanwhile.
    guard let content = FileManager.default.contents(atPath: path) else { return }
    if allowed[path]?.contains(content) != true {
      note("`\(path)` has \(content.count) bytes that are no whole version, \(when)")
    }
  }

  private func note(_ fault: String) { seen.withLock { $0.faults.append(fault) } }
}
