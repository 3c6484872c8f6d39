import Foundation
import TestSupport
import Testing

@testable import Reporting

@Suite struct ReportFileTests {
  private struct Stop: Error {}
  private let scratch: Scratch
  private var folder: String { scratch.path }

  init() throws {
    scratch = try Scratch()
  }

  private func contents(_ path: String) -> String? {
    FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
  }
  private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] }

  @Test func `a file is written whole or stays as it was`() throws {
    let path = folder + "/report.json"
    try ReportFile.write(path) { sink in try sink(Array("old".utf8)) }
    #expect(contents(path) == "old")
    #expect(throws: Stop.self) {
      try ReportFile.write(path) { sink in
        try sink(Array("ne".utf8))
        throw Stop()
      }
    }
    #expect(contents(path) == "old")
    try ReportFile.write(path) { sink in
      try sink(Array("n".utf8))
      #expect(contents(path) == "old")
      try sink(Array("ew".utf8))
    }
    #expect(contents(path) == "new")
    #expect(names == ["report.json"])
  }

  /// Where the file system has files without a name, a kill leaves none behind.
  @Test func `nothing has a name before it is whole`() throws {
    let probe = open(folder, O_WRONLY | O_DIRECTORY | 0o20_000_000)
    guard probe >= 0 else { return }
    close(probe)
    var seen: [String] = []
    try ReportFile.write(folder + "/report.json") { sink in
      try sink(Array("1".utf8))
      seen = names
    }
    #expect(seen.isEmpty && names == ["report.json"])
  }

  /// To Swift, the slash and the combining mark behind it are one character.
  @Test func `a name may begin with a combining mark`() throws {
    try ReportFile.write(folder + "/\u{301}r") { sink in try sink(Array("1".utf8)) }
    #expect(names.map { Array($0.utf8) } == [Array("\u{301}r".utf8)])
  }

  @Test func `a link stays a link`() throws {
    try ReportFile.write(folder + "/real") { sink in try sink(Array("1".utf8)) }
    try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: "real")
    try ReportFile.write(folder + "/link") { sink in try sink(Array("2".utf8)) }
    #expect(contents(folder + "/real") == "2")
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder + "/link") == "real")
  }

  @Test func `a device is written to and not replaced`() throws {
    try ReportFile.write("/dev/null") { sink in try sink(Array("x".utf8)) }
    var facts = stat()
    #expect(stat("/dev/null", &facts) == 0 && facts.st_mode & S_IFMT == S_IFCHR)
  }

  @Test func `a public file is readable in spite of the mode that it had`() throws {
    let path = folder + "/haul.prom"
    #expect(
      FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]))
    try ReportFile.write(path, isPublic: true) { sink in try sink(Array("1".utf8)) }
    var facts = stat()
    #expect(stat(path, &facts) == 0 && facts.st_mode & 0o777 == 0o644)
  }

  @Test func `an error names the file and the reason`() throws {
    let error = #expect(throws: OutputFileError.self) {
      try ReportFile.write(folder + "/none/report.json") { _ in }
    }
    #expect(error?.description.contains("none/report.json` can't be written: No such file") == true)
  }

  @Test func `a full device is an error`() throws {
    #expect(throws: OutputFileError.self) { try ReportFile.write("/dev/full") { try $0([1, 2, 3]) } }
  }

  @Test func `a buffer gives back what was added`() throws {
    let buffer = try TempBuffer()
    let blocks = (0..<3).map { [UInt8](repeating: UInt8($0), count: 50_000) }
    for block in blocks { try buffer.add(block) }
    var read: [UInt8] = []
    try buffer.read { read += $0 }
    #expect(read == blocks.flatMap { $0 })
  }
}
