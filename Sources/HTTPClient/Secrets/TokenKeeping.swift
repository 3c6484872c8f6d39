package import JobModel

/// Where refresh tokens outlive the process that a service gave them to in exchange for others: the configured one is
/// used up by then.
package struct TokenKeeping: Sendable {
  /// The token that was last given for the one that `key` stands for.
  package var read: @Sendable (_ key: String) -> Secret?
  /// Returns when it is on the disk.
  package var write: @Sendable (_ key: String, Secret) async throws -> Void

  package init(
    read: @escaping @Sendable (_ key: String) -> Secret?,
    write: @escaping @Sendable (_ key: String, Secret) throws -> Void
  ) {
    self.read = read
    // It waits for the disk, and the engine's tasks prefer the network thread.
    self.write = { key, token in
      try await withTaskExecutorPreference(globalConcurrentExecutor) { try write(key, token) }
    }
  }

  /// Keeps nothing.
  package static let none = TokenKeeping(read: { _ in nil }, write: { _, _ in })
}
