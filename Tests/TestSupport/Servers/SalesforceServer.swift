import Foundation

/// An organisation with files: the token endpoint with all three grants, the query, and the three ways to the bytes,
/// written from the wire facts (D) and strict about them.
package final class SalesforceServer: Sendable {
  package let url: String
  private let process: Running
  private let logPath: String
  private let settingsPath: String
  private let scratch: Scratch
  /// The client's private key, in PEM, readable by its owner alone.
  package let keyPath: String

  /// One version of a file: `id` is the first 15 characters of its id, `file` what is served.
  package struct Version: Sendable {
    var id: String
    var document: String
    var number: Int
    var file: String
    var hasChecksum: Bool
    var name: String
    package init(
      _ id: String, of document: String, number: Int = 1, file: String, hasChecksum: Bool = true,
      name: String? = nil
    ) {
      self.id = id
      self.document = document
      self.number = number
      self.file = file
      self.hasChecksum = hasChecksum
      self.name = name ?? file
    }
  }

  /// - Parameter options: JSON members: `ttl` (seconds of a token), `expires` (the answer tells it), `expired` (401, 403,
  ///   login, redirect: what an expired token gets in place of bytes), `rotate`, `ranges` (true), `rate` (bytes a second),
  ///   `limit` (requests before REQUEST_LIMIT_EXCEEDED), `page` (always a page in place of bytes).
  package init(_ bench: Bench, _ versions: [Version], options: String = "") async throws {
    let stem = bench.scratch.path + "/salesforce-\(UUID().uuidString.prefix(6))"
    scratch = bench.scratch
    logPath = stem + ".log"
    settingsPath = stem + ".json"
    keyPath = stem + ".pem"
    _ = try Sums.shell("umask 077; openssl genrsa -traditional -out \(keyPath) 2048 2>/dev/null", in: "/")
    let modulus = try Sums.shell("openssl rsa -in \(keyPath) -noout -modulus", in: "/")
      .trimmingCharacters(in: .whitespacesAndNewlines).dropFirst("Modulus=".count)
    try Data((PythonParts.server + PythonParts.rangedHandler + Self.script).utf8).write(
      to: URL(fileURLWithPath: stem + ".py"))
    try Data("{\(options)}".utf8).write(to: URL(fileURLWithPath: stem + ".options"))
    try Self.write(versions, to: settingsPath)
    process = try bench.serve(
      Programs.python,
      ["-u", stem + ".py", bench.served, logPath, settingsPath, stem + ".options", String(modulus)],
      environment: ["CLIENT_SECRET": Self.clientSecret, "REFRESH_TOKEN": Self.refreshToken],
      folder: bench.served)
    url = try await Loopback.announced(process, after: "listening on ")
  }

  package static let clientID = "3MVG9client"
  package static let clientSecret = "cl1ent-s3cret-of-lead"
  package static let refreshToken = "refr3sh-of-brass"
  package static let user = "robot@example.net"
  package static let audience = "https://login.example.net"

  /// What the organisation holds from now on.
  package func hold(_ versions: [Version]) throws { try Self.write(versions, to: settingsPath) }

  private static func write(_ versions: [Version], to path: String) throws {
    let rows = versions.map { version in
      """
      {"id": "\(version.id)", "document": "\(version.document)", "number": \(version.number), \
      "file": "\(version.file)", "checksum": \(version.hasChecksum), "name": "\(version.name)"}
      """
    }
    try Data("[\(rows.joined(separator: ","))]".utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
  }

  /// Its requests: `what` (token, query, bytes, page, …), `status`, `bytes`, `offset`, `grant`, `path`, `version`.
  package func log() -> [JSON] { JSON.lines(logPath) }
  /// Tokens that it gave, so that a test can search for them.
  package func tokens() -> [String] {
    let text = String(
      decoding: FileManager.default.contents(atPath: logPath + ".tokens") ?? Data(), as: UTF8.self)
    return text.split(separator: "\n").map(String.init)
  }
}
