/// What is asked of an SFTP server: version 3 (draft-ietf-secsh-filexfer-02), and OpenSSH's extensions (PROTOCOL, 4). Paths are
/// bytes to the server.
package enum SFTPRequest: Sendable, Hashable {
  package typealias Handle = [UInt8]

  /// How a file is opened.
  package struct Opening: OptionSet, Sendable, Hashable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }
    package static let read = Opening(rawValue: 1)
    package static let write = Opening(rawValue: 2)
    package static let create = Opening(rawValue: 8)
    /// Fails where there is a file already.
    package static let exclusive = Opening(rawValue: 0x20)
  }

  case open(String, Opening, SFTPAttributes)
  case close(Handle)
  case read(Handle, at: Int64, count: Int)
  case write(Handle, at: Int64, [UInt8])
  /// Follows links.
  case stat(String)
  case linkStat(String)
  case handleStat(Handle)
  case setStat(String, SFTPAttributes)
  case setHandleStat(Handle, SFTPAttributes)
  case openFolder(String)
  case readFolder(Handle)
  case remove(String)
  case makeFolder(String)
  /// Fails where the new name is taken (6.5).
  case rename(String, to: String)
  /// Replaces a file of the new name (`posix-rename@openssh.com`).
  case replacingRename(String, to: String)
  /// Brings the file to the disk (`fsync@openssh.com`).
  case sync(Handle)
  /// Asks for the lengths that the server takes (`limits@openssh.com`).
  case limits
  /// Asks for the room on the file's disk (`fstatvfs@openssh.com`).
  case room(Handle)

  /// The packet that begins a session; it has no id.
  package static var beginning: [UInt8] {
    var packet = SSHWriter()
    packet.uint32(5)
    packet.byte(1)
    packet.uint32(3)
    return packet.bytes
  }

  package func packet(_ id: UInt32) -> [UInt8] {
    var body = SSHWriter(64 + payload)
    body.uint32(id)
    write(to: &body)
    var packet = SSHWriter(body.bytes.count + 5)
    packet.uint32(UInt32(clamping: body.bytes.count + 1))
    packet.byte(type)
    return packet.bytes + body.bytes
  }

  private var payload: Int { if case .write(_, _, let bytes) = self { bytes.count } else { 0 } }

  private var type: UInt8 {
    switch self {
    case .open: 3
    case .close: 4
    case .read: 5
    case .write: 6
    case .linkStat: 7
    case .handleStat: 8
    case .setStat: 9
    case .setHandleStat: 10
    case .openFolder: 11
    case .readFolder: 12
    case .remove: 13
    case .makeFolder: 14
    case .stat: 17
    case .rename: 18
    case .replacingRename, .sync, .limits, .room: 200
    }
  }

  private func write(to body: inout SSHWriter) {
    switch self {
    case .open(let path, let opening, let attributes):
      body.string(path)
      body.uint32(opening.rawValue)
      attributes.write(to: &body)
    case .close(let handle), .handleStat(let handle), .readFolder(let handle): body.string(handle)
    case .read(let handle, let offset, let count):
      body.string(handle)
      body.uint64(UInt64(clamping: offset))
      body.uint32(UInt32(clamping: count))
    case .write(let handle, let offset, let bytes):
      body.string(handle)
      body.uint64(UInt64(clamping: offset))
      body.string(bytes)
    case .stat(let path), .linkStat(let path), .openFolder(let path), .remove(let path):
      body.string(path)
    case .setStat(let path, let attributes):
      body.string(path)
      attributes.write(to: &body)
    case .makeFolder(let path):
      body.string(path)
      SFTPAttributes().write(to: &body)
    case .setHandleStat(let handle, let attributes):
      body.string(handle)
      attributes.write(to: &body)
    case .rename(let old, let new):
      body.string(old)
      body.string(new)
    case .replacingRename(let old, let new):
      body.string(SFTPExtension.replacingRename.name)
      body.string(old)
      body.string(new)
    case .sync(let handle):
      body.string(SFTPExtension.sync.name)
      body.string(handle)
    case .limits: body.string(SFTPExtension.limits.name)
    case .room(let handle):
      body.string(SFTPExtension.room.name)
      body.string(handle)
    }
  }
}

/// OpenSSH's additions to version 3 that haul uses where a server names them.
package enum SFTPExtension: Sendable, Hashable, CaseIterable {
  case replacingRename, sync, limits, room

  package var name: String {
    switch self {
    case .replacingRename: "posix-rename@openssh.com"
    case .sync: "fsync@openssh.com"
    case .limits: "limits@openssh.com"
    case .room: "fstatvfs@openssh.com"
    }
  }
}
