/// What a transfer says beyond its id, source, destination and expectation. Many transfers share one value.
package struct TransferSettings: Sendable, Hashable {
  package var direction: Verb
  package var chunkSize = ChunkSize.standard
  package var verify = VerifyLevel.available
  package var contentType: String?
  package var policyName: String?
  /// The named policy's budget, or its time zone, is of a level that not all of its transfers have.
  package var hasOwnBudget = false
  /// `policy`, to be handed on without a copy.
  package var sharedPolicy = CopyOnWrite(wrappedValue: EffectivePolicy())
  package var refresh = RefreshRule.changed
  package var ifExists = ExistsRule.replace
  /// Permission bits of a downloaded file; nil leaves them to the umask.
  package var mode: UInt16?
  /// Keep the server's Last-Modified as the file's mtime.
  package var keepsSourceTime = false
  package var snapshot = SnapshotRule.none
  package var headers: [HeaderSetting] = []
  /// Of a copy: the headers of requests to its source, whose endpoint has its own.
  package var sourceHeaders: [HeaderSetting] = []
  /// Of a copy: the policy of requests to its source, with that endpoint's level in place of the destination's.
  @CopyOnWriteOptional package var sourcePolicy: EffectivePolicy? = nil
  /// Ids, or globs of ids, that must be completed first.
  package var needs: [String] = []
  /// Which attributes go along.
  package var preserve: PreserveRule
  /// What the object is given beside them.
  @CopyOnWrite package var given = GivenAttributes()
  /// The request that ties the proved file to its record.
  @CopyOnWriteOptional package var then: AttachTemplate? = nil
  package var isEnabled = true
  package var allowsOutside = false

  /// What keeps the transfer from being carried out at all.
  package var obstacle: PlacementObstacle?

  /// All levels merged: transfer, endpoint, defaults, built in.
  @inlinable package var policy: EffectivePolicy {
    _read { yield sharedPolicy.wrappedValue }
    _modify { yield &sharedPolicy.wrappedValue }
  }

  package init(direction: Verb) {
    self.direction = direction
    preserve = .standard(direction)
  }

  /// These settings with an attach request; its policy is said only where it is another one.
  package func attaching(_ template: AttachTemplate) -> TransferSettings {
    var settings = self
    settings.then = template
    if template.policy == policy { settings.then?.policy = nil }
    return settings
  }

  /// Whether these checks of a completed transfer are what `verify` demands: it may have demanded less when they were made.
  package func isProved(by checks: [Verification]) -> Bool {
    switch verify {
    case .available, .size: true
    case .required: checks.contains(where: \.proves)
    case .readback: !direction.writesRemote || checks.contains(Verification("readback", .server, .match))
    }
  }

  /// Of a copy: one request can speak for both ends, as what is said to the source's server is said to the destination's.
  package var asksBothAlike: Bool {
    let source = sourcePolicy ?? policy
    return headers == sourceHeaders && source.headers == policy.headers
      && source.clientCertificate == policy.clientCertificate && source.clientKey == policy.clientKey
  }

  /// These settings for requests to a copy's source.
  package var ofSource: TransferSettings {
    var settings = self
    settings.headers = sourceHeaders
    settings.policy = sourcePolicy ?? policy
    return settings
  }
}

/// What a transfer does: the key of its source in the manifest.
package enum Verb: String, Sendable, Hashable, CaseIterable {
  case download, upload
  /// From one remote to another.
  case copy

  package var readsRemote: Bool { self != .upload }
  package var writesRemote: Bool { self != .download }
  /// Which way its bytes go at its `remote` side.
  package var wire: Direction { writesRemote ? .upload : .download }
}

/// Which way bytes go, seen from here.
package enum Direction: String, Sendable, Hashable, CaseIterable { case download, upload }

/// `chunk_size`: bytes, or chosen by size and rate when the first chunk begins.
package enum ChunkSize: Sendable, Hashable {
  case bytes(Int64)
  case auto

  /// Where the manifest says nothing.
  package static let standard = ChunkSize.bytes(8 << 20)

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

/// `verify`: what must prove the bytes.
package enum VerifyLevel: String, Sendable, Hashable, CaseIterable {
  case available, required, readback, size
}

/// `refresh`: when what has completed is transferred again.
package enum RefreshRule: String, Sendable, Hashable, CaseIterable { case changed, always, never }

/// `if_exists`: what becomes of a destination that this job did not write.
package enum ExistsRule: String, Sendable, Hashable, CaseIterable { case replace, keep, fail }

/// `snapshot`: whether an upload reads a copy of its source.
package enum SnapshotRule: String, Sendable, Hashable, CaseIterable { case none, reflink, copy }
