/// What a file is, by SFTP version 3 (draft-ietf-secsh-filexfer-02, 5). Absent is what the other side does not say, or what is
/// to stay as it is.
package struct SFTPAttributes: Sendable, Hashable {
  package enum Kind: Sendable, Hashable { case file, folder, link, special }

  package var size: UInt64?
  /// Type and permissions, as of stat(2).
  package var mode: UInt32?
  /// Seconds since 1970.
  package var accessed: UInt32?
  package var modified: UInt32?

  /// That can be told, in seconds since 1970.
  package static let times = 0...Int64(UInt32.max)

  package init() {}

  private static let (hasSize, hasOwner, hasMode, hasTimes): (UInt32, UInt32, UInt32, UInt32) = (1, 2, 4, 8)
  private static let hasMore: UInt32 = 0x8000_0000
  /// Extended attributes that are read over.
  private static let mostMore: UInt32 = 1024

  /// Nil where the bytes are no attributes.
  init?(_ bytes: inout SSHBytes) {
    guard let flags = bytes.uint32() else { return nil }
    if flags & Self.hasSize != 0 {
      guard let size = bytes.uint64() else { return nil }
      self.size = size
    }
    if flags & Self.hasOwner != 0 { guard bytes.uint64() != nil else { return nil } }
    if flags & Self.hasMode != 0 {
      guard let mode = bytes.uint32() else { return nil }
      self.mode = mode
    }
    if flags & Self.hasTimes != 0 {
      guard let accessed = bytes.uint32(), let modified = bytes.uint32() else { return nil }
      (self.accessed, self.modified) = (accessed, modified)
    }
    if flags & Self.hasMore != 0 {
      guard let count = bytes.uint32(), count <= Self.mostMore else { return nil }
      for _ in 0..<count { guard bytes.string() != nil, bytes.string() != nil else { return nil } }
    }
  }

  func write(to packet: inout SSHWriter) {
    let hasTimes = accessed != nil || modified != nil
    packet.uint32(
      (size == nil ? 0 : Self.hasSize) | (mode == nil ? 0 : Self.hasMode) | (hasTimes ? Self.hasTimes : 0))
    if let size { packet.uint64(size) }
    if let mode { packet.uint32(mode) }
    if hasTimes {
      packet.uint32(accessed ?? modified ?? 0)
      packet.uint32(modified ?? accessed ?? 0)
    }
  }

  /// Nil where the mode is not told.
  package var kind: Kind? {
    mode.map { mode in
      switch mode & 0o170000 {
      case 0o100000: .file
      case 0o040000: .folder
      case 0o120000: .link
      // Some servers tell permissions alone.
      case 0: .file
      default: .special
      }
    }
  }

  /// Bytes, no more than are believed of any server.
  package var bytes: Int64? { size.map { min(ByteCount.limit, Int64(clamping: $0)) } }
}
