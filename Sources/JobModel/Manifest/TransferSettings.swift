/// What a transfer says beyond its id, source, destination and expectation. Many transfers share one value.
package struct TransferSettings: Sendable, Hashable {
  package var direction: Direction
  package var chunkSize = ChunkSize.bytes(8 << 20)
  package var verify = VerifyLevel.available
  package var contentType: String?
  package var policyName: String?
  /// All levels merged: transfer, endpoint, defaults, built in.
  package var policy = EffectivePolicy()
  package var refresh = RefreshRule.changed
  package var ifExists = ExistsRule.replace
  /// Permission bits of a downloaded file; nil leaves them to the umask.
  package var mode: UInt16?
  /// Keep the server's Last-Modified as the file's mtime.
  package var keepsSourceTime = false
  package var snapshot = SnapshotRule.none
  package var headers: [HeaderSetting] = []
  /// Ids, or globs of ids, that must be completed first.
  package var needs: [String] = []
  package var isEnabled = true
  package var allowsOutside = false

  /// What keeps the transfer from being carried out at all.
  package var obstacle: PlacementObstacle?

  package init(direction: Direction) { self.direction = direction }
}

package enum Direction: String, Sendable, Hashable, CaseIterable { case download, upload }
package enum ChunkSize: Sendable, Hashable {
  case bytes(Int64)
  case auto

  /// Bytes a chunk that the manifest asks for.
  ///
  /// - Parameters:
  ///   - chosen: what `auto` came to when the first chunk began.
  ///   - rate, least, most: as of `ChunkLayout.automatic`.
  package func bytes(
    of size: Int64?, chosen: Int64?, rate: Double? = nil, least: Int64 = 1, most: Int? = nil
  ) -> Int64 {
    switch self {
    case .bytes(let bytes): bytes
    case .auto: chosen ?? ChunkLayout.automatic(size: size, rate: rate, least: least, most: most)
    }
  }
}
package enum VerifyLevel: String, Sendable, Hashable, CaseIterable {
  case available, required, readback, size
}
package enum RefreshRule: String, Sendable, Hashable, CaseIterable { case changed, always, never }
package enum ExistsRule: String, Sendable, Hashable, CaseIterable { case replace, keep, fail }
package enum SnapshotRule: String, Sendable, Hashable, CaseIterable { case none, reflink, copy }
