import Foundation

/// A folder of its own for one test, removed with everything in it when it is let go.
package final class Scratch: Sendable {
  package let path: String

  package init() throws {
    var template = Array((NSTemporaryDirectory() + "/haul-e2e-XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else { throw TestFault("no scratch folder: errno \(errno)") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // Servers that give up root must still get in.
    chmod(path, 0o755)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Makes a folder in it.
  @discardableResult
  package func folder(_ name: String) throws -> String {
    let folder = path + "/" + name
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return folder
  }

  /// Writes a file; with a mode in one step, so that nobody reads half of a new secret, or one that others may read.
  @discardableResult
  package func write(_ name: String, _ text: String, mode: UInt32? = nil) throws -> String {
    let file = path + "/" + name
    try FileManager.default.createDirectory(
      atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    let written = mode == nil ? file : file + ".new"
    // Not open in what another test starts meanwhile: what is open for writing anywhere can't be executed (ETXTBSY).
    let descriptor = open(written, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw TestFault("can't write \(name): errno \(errno)") }
    try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).write(contentsOf: Data(text.utf8))
    if let mode {
      guard chmod(written, mode) == 0, rename(written, file) == 0 else {
        throw TestFault("can't put \(name) in its place: errno \(errno)")
      }
    }
    return file
  }
}

/// What went wrong with a test's own means.
package struct TestFault: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}
