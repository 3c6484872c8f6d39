import Foundation

/// SHA-256 by coreutils: another implementation than the one under test.
package enum Sums {
  /// Digests of all files below a folder, by path below it; dot files included.
  package static func tree(_ folder: String) throws -> [String: String] {
    guard FileManager.default.fileExists(atPath: folder) else { return [:] }
    let text = try shell("find . -type f -print0 | xargs -0 -r sha256sum -z", in: folder)
    var sums: [String: String] = [:]
    for line in text.split(separator: "\0") { sums[String(line.dropFirst(68))] = String(line.prefix(64)) }
    return sums
  }

  /// One file's digest; nil where there is no file.
  package static func file(_ path: String) throws -> String? {
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    return String(try tool("/usr/bin/sha256sum", ["-z", path]).prefix(64))
  }

  /// What a tool such as `md5sum` prints first.
  package static func digest(_ name: String, _ path: String) throws -> String {
    String(try tool("/usr/bin/" + name, [path]).prefix { $0 != " " })
  }

  package static func shell(_ script: String, in folder: String) throws -> String {
    try tool("/bin/sh", ["-c", script], in: folder)
  }

  private static func tool(_ program: String, _ arguments: [String], in folder: String = "/") throws -> String
  {
    let scratch = try Scratch()
    let run = try Running(
      program, arguments, environment: ["PATH": "/usr/bin:/bin:/usr/sbin:/sbin"], folder: folder,
      scratch: scratch.path)
    let end = run.waitHere()
    guard end.status == 0 else { throw TestFault("`\(program)` ended with \(end.status): \(end.errors)") }
    return end.output
  }
}
