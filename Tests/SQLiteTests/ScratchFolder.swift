import Foundation

/// A folder that goes with its last reference.
final class ScratchFolder {
  let path: String
  var file: String { path + "/a.sqlite" }

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/haul-sqlite-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
