import Endpoints
import JobModel
import Testing

/// SFTP's packets as values (draft-ietf-secsh-filexfer-02).
struct SFTPPacketTests {
  @Test func requestsAreWritten() {
    var attributes = SFTPAttributes()
    (attributes.mode, attributes.modified) = (0o640, 5)
    let cases: [(SFTPRequest, [UInt8])] = [
      (.close([7]), [0, 0, 0, 10, 4, 0, 0, 0, 9, 0, 0, 0, 1, 7]),
      (
        .read([7], at: 258, count: 3),
        [0, 0, 0, 22, 5, 0, 0, 0, 9, 0, 0, 0, 1, 7, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3]
      ),
      (
        .write([7], at: 0, [1, 2]),
        [0, 0, 0, 24, 6, 0, 0, 0, 9, 0, 0, 0, 1, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2]
      ),
      (
        .setHandleStat([7], attributes),
        [0, 0, 0, 26, 10, 0, 0, 0, 9, 0, 0, 0, 1, 7, 0, 0, 0, 12, 0, 0, 1, 160, 0, 0, 0, 5, 0, 0, 0, 5]
      ),
      (
        .rename("a", to: "b"),
        [0, 0, 0, 15, 18, 0, 0, 0, 9, 0, 0, 0, 1, 97, 0, 0, 0, 1, 98]
      ),
    ]
    for (request, packet) in cases { #expect(request.packet(9) == packet, "\(request)") }
    #expect(SFTPRequest.beginning == [0, 0, 0, 5, 1, 0, 0, 0, 3])
    let name = Array("posix-rename@openssh.com".utf8)
    #expect(Array(SFTPRequest.replacingRename("a", to: "b").packet(9)[13..<13 + name.count]) == name)
  }

  /// A write that OpenSSH refuses without a reason, and the room on its disk: blocks that users may take, of 4096 bytes each.
  @Test(
    arguments: [(0, .diskFull), (3, .diskFull), (1 << 20, .serverError), (.max, .serverError)]
      as [(UInt64, ErrorCode)])
  func aFullDiskIsTold(_ blocks: UInt64, _ code: ErrorCode) throws {
    var facts = SSHWriter()
    for number in [1024, 4096, 1 << 30, 77, blocks, 9, 9, 9, 1, 0, 255] as [UInt64] { facts.uint64(number) }
    let room = try #require(SFTPReply.room(facts.bytes))
    let failure = SFTPFailure.of(SFTPStatus(4, "Failure"), doing: "write", at: "sftp://h/a")
    #expect(SFTPFailure.ofWrite(failure, room: room).code == code)
    let denied = SFTPFailure.of(SFTPStatus(3, "no"), doing: "write", at: "sftp://h/a")
    #expect(SFTPFailure.ofWrite(denied, room: room).code == .forbidden)
    #expect(SFTPReply.room([0, 0, 1]) == nil)
    let name = Array("fstatvfs@openssh.com".utf8)
    #expect(Array(SFTPRequest.room([7]).packet(9)[9...]) == [0, 0, 0, 20] + name + [0, 0, 0, 1, 7])
  }

  @Test func answersAreRead() throws {
    func read(_ bytes: [UInt8]) -> SFTPReply? { SFTPReply.read(bytes[...])?.1 }
    #expect(read([101, 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0, 1, 120]) == .status(SFTPStatus(2, "x")))
    #expect(
      read([101, 0, 0, 0, 9, 0, 0, 0, 1]) == .status(SFTPStatus(1, "")), "older servers send no message")
    #expect(read([102, 0, 0, 0, 9, 0, 0, 0, 1, 7]) == .handle([7]))
    #expect(read([103, 0, 0, 0, 9, 0, 0, 0, 2, 1, 2]) == .data([1, 2]))
    var attributes = SFTPAttributes()
    (attributes.size, attributes.mode) = (3, 0o100644)
    #expect(
      read([105, 0, 0, 0, 9, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 129, 164]) == .attributes(attributes))
    #expect(attributes.kind == .file && attributes.bytes == 3)
    var endless = SFTPAttributes()
    endless.size = .max
    #expect(endless.bytes == ByteCount.limit)
    let extended: [UInt8] =
      [2, 0, 0, 0, 3, 0, 0, 0, 17] + Array("fsync@openssh.com".utf8) + [0, 0, 0, 1, 49]
    #expect(read(extended) == .version(3, [.sync]))
  }

  /// A packet that ends too early, and one that says more than it has, is no answer and no trap.
  @Test func strangersBytesAreNoAnswers() {
    let whole: [[UInt8]] = [
      [104, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 1, 97, 0, 0, 0, 1, 97, 0, 0, 0, 0],
      [
        105, 0, 0, 0, 9, 0, 0, 0, 15, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1,
        0, 0, 0, 1,
      ],
      [103, 0, 0, 0, 9, 0, 0, 0, 2, 1, 2],
    ]
    for packet in whole {
      #expect(SFTPReply.read(packet[...]) != nil)
      for count in 0..<packet.count { #expect(SFTPReply.read(packet[..<count]) == nil, "\(packet) \(count)") }
    }
    #expect(SFTPReply.read([104, 0, 0, 0, 9, 255, 255, 255, 255]) == nil)
    #expect(SFTPReply.read([103, 0, 0, 0, 9, 255, 255, 255, 255, 1]) == nil)
    #expect(SFTPReply.read([99, 0, 0, 0, 9]) == nil)
  }

  @Test func packetsAreCut() throws {
    var frames = SFTPFrames()
    let bytes: [UInt8] = [0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0, 6, 6, 5, 4, 3, 2, 1]
    var found: [[UInt8]] = []
    for byte in bytes {
      [byte].withUnsafeBytes { frames.append($0) }
      while let packet = try frames.next() { found.append(Array(packet)) }
    }
    #expect(found == [[1, 2, 3, 4, 5], [6, 5, 4, 3, 2, 1]])
    for length: [UInt8] in [[0, 0, 0, 4], [0, 4, 0, 1], [255, 255, 255, 255]] {
      var bad = SFTPFrames()
      length.withUnsafeBytes { bad.append($0) }
      #expect(throws: SFTPFrameFault.self) { try bad.next() }
    }
  }

  @Test func refusalsHaveCodes() {
    let cases: [(UInt32, String, ErrorCode, FailureClass)] = [
      (2, "No such file", .notFound, .permanent), (3, "Permission denied", .forbidden, .denied),
      (4, "Failure", .serverError, .transient), (4, "No space left on device", .diskFull, .deferred),
      (15, "", .diskFull, .deferred), (7, "", .networkUnreachable, .transient),
      (8, "", .protocolViolation, .permanent),
    ]
    for (number, words, code, meaning) in cases {
      let failure = SFTPFailure.of(SFTPStatus(number, words), doing: "write", at: "sftp://h/a")
      #expect(failure.code == code && failure.class == meaning, "\(number)")
    }
    let long = SFTPFailure.of(
      SFTPStatus(4, String(repeating: "x\n", count: 9000)), doing: "write", at: "sftp://h/a")
    #expect(long.message.utf8.count < 400 && !long.message.contains("\n"))
  }
}
