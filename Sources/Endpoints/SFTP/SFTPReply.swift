/// What an SFTP server answers (draft-ietf-secsh-filexfer-02, 7).
package enum SFTPReply: Sendable, Hashable {
  /// The answer to the beginning of a session; it has no id.
  case version(UInt32, Set<SFTPExtension>)
  case status(SFTPStatus)
  case handle([UInt8])
  case data(ArraySlice<UInt8>)
  case names([Name])
  case attributes(SFTPAttributes)
  /// To an extended request: of `limits@openssh.com` the lengths, of `fstatvfs@openssh.com` the disk's facts.
  case extended([UInt8])

  package struct Name: Sendable, Hashable {
    /// As the server's file system has it.
    package var bytes: [UInt8]
    package var attributes: SFTPAttributes

    package init(_ bytes: [UInt8], _ attributes: SFTPAttributes) {
      (self.bytes, self.attributes) = (bytes, attributes)
    }
  }

  /// Bytes that may still be written to the disk, by the answer to `room` (OpenSSH's PROTOCOL, 4.4); nil where it is none.
  package static func room(_ extended: [UInt8]) -> UInt64? {
    var bytes = SSHBytes(extended)
    guard bytes.uint64() != nil, let size = bytes.uint64(), bytes.uint64() != nil, bytes.uint64() != nil,
      let blocks = bytes.uint64()
    else { return nil }
    let (room, isMore) = blocks.multipliedReportingOverflow(by: size)
    return isMore ? .max : room
  }

  /// Reads one packet without its length.
  ///
  /// - Returns: nil where the bytes are no answer.
  package static func read(_ packet: ArraySlice<UInt8>) -> (id: UInt32?, SFTPReply)? {
    var bytes = SSHBytes(packet)
    guard let type = bytes.byte(), let number = bytes.uint32() else { return nil }
    guard type != 2 else { return (nil, .version(number, extensions(&bytes))) }
    return body(type, &bytes).map { (number, $0) }
  }

  private static func extensions(_ bytes: inout SSHBytes) -> Set<SFTPExtension> {
    var found: Set<SFTPExtension> = []
    while let name = bytes.string(), bytes.string() != nil {
      for known in SFTPExtension.allCases where name.elementsEqual(known.name.utf8) { found.insert(known) }
    }
    return found
  }

  private static func body(_ type: UInt8, _ bytes: inout SSHBytes) -> SFTPReply? {
    switch type {
    case 101:
      guard let code = bytes.uint32() else { return nil }
      // Servers of older drafts send no message.
      return .status(SFTPStatus(code, bytes.text() ?? ""))
    case 102: return bytes.string().flatMap { $0.count <= 256 ? .handle(Array($0)) : nil }
    case 103: return bytes.string().map { .data($0) }
    case 104:
      guard let count = bytes.uint32() else { return nil }
      var names: [Name] = []
      for _ in 0..<count {
        // The long name is for people (7).
        guard let name = bytes.string(), bytes.string() != nil, let attributes = SFTPAttributes(&bytes) else {
          return nil
        }
        names.append(Name(Array(name), attributes))
      }
      return .names(names)
    case 105: return SFTPAttributes(&bytes).map { .attributes($0) }
    case 201: return .extended(Array(bytes.rest))
    default: return nil
    }
  }
}

/// How a request came out.
package struct SFTPStatus: Sendable, Hashable {
  package enum Code: UInt32, Sendable, Hashable {
    case ok = 0, end = 1, noSuchFile = 2, permissionDenied = 3, failure = 4, badMessage = 5
    case noConnection = 6, connectionLost = 7, unsupported = 8
  }
  /// Nil for a code of later versions.
  package var code: Code?
  package var number: UInt32
  /// In the server's words.
  package var message: String

  package init(_ number: UInt32, _ message: String) {
    (code, self.number, self.message) = (Code(rawValue: number), number, message)
  }
}

/// Cuts what comes from a server into packets.
package struct SFTPFrames: Sendable {
  /// Bytes that one packet may have: OpenSSH's own limit (sftp-common.h).
  package static let longest = 256 << 10
  private var bytes: [UInt8] = []
  private var start = 0

  package init() {}

  package mutating func append(_ more: UnsafeRawBufferPointer) {
    if start > 0, start == bytes.count {
      bytes.removeAll(keepingCapacity: true)
      start = 0
    } else if start > 1 << 20 {
      bytes.removeFirst(start)
      start = 0
    }
    bytes += more
  }

  /// The next packet, without its length; nil until all of it is there.
  ///
  /// - Throws: where what comes is no packet.
  package mutating func next() throws(SFTPFrameFault) -> ArraySlice<UInt8>? {
    guard bytes.count - start >= 4 else { return nil }
    let length = bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
    guard (5...Self.longest).contains(length) else { throw SFTPFrameFault(length: length) }
    guard bytes.count - start - 4 >= length else { return nil }
    defer { start += 4 + length }
    return ArraySlice(Array(bytes[start + 4..<start + 4 + length]))
  }
}

/// The server sent a packet of a length that none has.
package struct SFTPFrameFault: Error, Sendable, Hashable {
  package var length: Int

  /// Its four bytes, where they are text: no packet is as long as that.
  package var text: String? {
    let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) }
    return bytes.allSatisfy { (0x20...0x7E).contains($0) } ? String(decoding: bytes, as: UTF8.self) : nil
  }
}
