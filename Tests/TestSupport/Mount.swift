import Foundation

/// A file system of a test's own, mounted until it is let go.
package final class Mount: Sendable {
  package let folder: String

  /// Mounting needs root; a test says so in its condition.
  package static var isAllowed: Bool { getuid() == 0 }

  /// - Parameter words: what stands between `mount` and the folder: `-t tmpfs -o size=2m tmpfs`, `--bind PATH`.
  package init(_ words: String, at folder: String) throws {
    self.folder = folder
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    _ = try Sums.shell("mount \(words) \(folder)", in: "/")
  }

  /// A file system with room for `size` bytes in all.
  package static func small(_ bytes: Int, at folder: String) throws -> Mount {
    try Mount("-t tmpfs -o size=\(bytes) tmpfs", at: folder)
  }

  /// Changes its options: `ro`, `rw`, `size=32m`.
  package func change(_ options: String) throws {
    _ = try Sums.shell("mount -o remount,\(options) \(folder)", in: "/")
  }

  /// Takes it away, open files or not.
  package func vanish() throws { _ = try Sums.shell("umount -l \(folder)", in: "/") }

  deinit { _ = try? Sums.shell("umount -l \(folder)", in: "/") }
}
