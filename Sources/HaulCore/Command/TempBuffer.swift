import Foundation
import JobModel
import Reporting

/// Output kept in a file without a name until all of it is known to be there: a plan that turns out to be damaged in
/// its middle must not leave half a JSON value behind.
final class TempBuffer {
  private let file: FileHandle

  /// - Throws: `End` with 73 where no temporary file can be made.
  init() throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("haul-\(UUID().uuidString)")
    guard
      FileManager.default.createFile(
        atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600]),
      let file = FileHandle(forUpdatingAtPath: url.path)
    else { throw End(.cannotCreate, OutputFileError(url.path, errno: errno).description) }
    self.file = file
    try? FileManager.default.removeItem(at: url)
  }

  deinit { try? file.close() }

  func add(_ bytes: [UInt8]) throws { try guarded { try file.write(contentsOf: Data(bytes)) } }

  /// Hands on everything that was added, in order.
  func read(_ body: ([UInt8]) throws -> Void) throws {
    try guarded { try file.seek(toOffset: 0) }
    while let block = try guarded({ try file.read(upToCount: 1 << 16) }), !block.isEmpty {
      try body(Array(block))
    }
  }

  private func guarded<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch {
      throw End(.cannotCreate, "a temporary file can't be used: \(error.localizedDescription)")
    }
  }
}
