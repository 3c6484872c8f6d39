import Foundation
import Gzip
import Testing

/// What gzip(1) has made is inflated as it comes, and what is damaged or cut off is told.
struct GzipReaderTests {
  /// gzip's own output for these bytes.
  private func zipped(_ bytes: Data) throws -> [UInt8] {
    let path = FileManager.default.temporaryDirectory.path + "/gzip-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: path + ".gz") }
    try bytes.write(to: URL(fileURLWithPath: path))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["gzip", "-n", path]
    try process.run()
    process.waitUntilExit()
    return Array(try Data(contentsOf: URL(fileURLWithPath: path + ".gz")))
  }

  /// Inflates what comes in pieces of so many bytes.
  private func inflated(_ bytes: [UInt8], by step: Int) throws -> [UInt8] {
    var rest = bytes[...]
    let reader = try GzipReader {
      defer { rest = rest.dropFirst(step) }
      return Array(rest.prefix(step))
    }
    var out: [UInt8] = []
    while true {
      let piece = try reader.next()
      if piece.isEmpty { return out }
      out += piece
    }
  }

  private let text = Data((0..<20_000).map { "row \($0)\n" }.joined().utf8)

  @Test(arguments: [1, 7, 4096, 1 << 20]) func inAnyPieces(_ step: Int) throws {
    let bytes = try zipped(step == 1 ? text.prefix(5000) : text)
    #expect(try inflated(bytes, by: step) == Array(step == 1 ? text.prefix(5000) : text))
  }

  @Test func membersAreOneText() throws {
    let (one, two) = (try zipped(Data("one\n".utf8)), try zipped(Data("two\n".utf8)))
    for step in [3, 1000] {
      #expect(try inflated(one + two, by: step) == Array("one\ntwo\n".utf8))
    }
    #expect(try inflated([], by: 10) == [])
    #expect(try inflated(zipped(Data()), by: 10) == [])
  }

  /// A small file may hold much: no more than a piece of it is in memory.
  @Test func muchComesInPieces() throws {
    let bytes = try zipped(Data(count: 64 << 20))
    var isRead = false
    let reader = try GzipReader {
      defer { isRead = true }
      return isRead ? [] : bytes
    }
    var count = 0
    while true {
      let piece = try reader.next()
      if piece.isEmpty { break }
      #expect(piece.count <= 256 << 10)
      count += piece.count
    }
    #expect(count == 64 << 20)
  }

  @Test func whatIsDamagedIsTold() throws {
    let bytes = try zipped(text)
    #expect(throws: GzipReader.Fault.self) { try inflated(Array(bytes.dropLast(5)), by: 4096) }
    #expect(throws: GzipReader.Fault.self) { try inflated(Array("no gzip at all".utf8), by: 4096) }
    #expect(throws: GzipReader.Fault.self) { try inflated(bytes + Array("more".utf8), by: 4096) }
    var flipped = bytes
    flipped[flipped.count / 2] ^= 1
    #expect(throws: GzipReader.Fault.self) { try inflated(flipped, by: 4096) }
    struct Broken: Error {}
    let reader = try GzipReader { throw Broken() }
    #expect(throws: Broken.self) { try reader.next() }
  }
}
