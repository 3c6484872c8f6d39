import Digests
import Glibc
import JobModel
import Posix

/// Ids of transfers, one a line, as `--only-from` takes them. However long, they are kept in a file without a name.
struct IDList: Sendable {
  /// Of the bytes, in hex.
  let sha256: String
  private let file: ScratchFile
  private let size: Int
  private static let block = 1 << 16

  /// - Parameter path: `-` is standard input.
  /// - Throws: `End` with 66 where it can't be read, with 73 where it can't be kept.
  init(_ path: String) throws {
    let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.unreadable(path, SystemError()) }
    defer { if path != "-" { close(descriptor) } }
    let digest = try StreamingDigest(.sha256)
    var size = 0
    do throws(SystemError) { file = try ScratchFile() } catch {
      throw End(.cannotCreate, "the list of `--only-from` can't be kept: \(error)")
    }
    while true {
      let bytes: [UInt8]
      do throws(SystemError) { bytes = try Files.read(descriptor, upTo: Self.block) } catch {
        throw Self.unreadable(path, error)
      }
      if bytes.isEmpty { break }
      digest.update(bytes)
      do throws(SystemError) { try file.write(bytes, at: size) } catch {
        throw End(.cannotCreate, "the list of `--only-from` can't be kept: \(error)")
      }
      size += bytes.count
    }
    self.size = size
    sha256 = Hex.encode(digest.finish())
  }

  /// Gives each id; empty lines are passed over.
  ///
  /// - Throws: `End` with 66 where a line is too long to be an id; what `body` throws.
  func each(_ body: (String) throws -> Void) throws {
    var line: [UInt8] = []
    var offset = 0
    while offset < size {
      let bytes = try file.read(at: offset, count: Self.block)
      if bytes.isEmpty { break }
      offset += bytes.count
      var rest = bytes[...]
      while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        line += rest[..<end]
        try give(line[...], body)
        line.removeAll(keepingCapacity: true)
        rest = rest[(end + 1)...]
      }
      line += rest
      guard line.count <= Self.block else {
        throw End(
          .noInput,
          "the list of `--only-from` has a line of more than \(Self.block) bytes: write one id a line")
      }
    }
    try give(line[...], body)
  }

  private func give(_ line: ArraySlice<UInt8>, _ body: (String) throws -> Void) throws {
    let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
    if !line.isEmpty { try body(String(decoding: line, as: UTF8.self)) }
  }

  private static func unreadable(_ path: String, _ error: SystemError) -> End {
    End(.noInput, "the list `\(path)` of `--only-from` can't be read: \(error)")
  }
}
