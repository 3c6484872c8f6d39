import Curl
import Foundation
import Testing

/// Against `openssl s_server` with a certificate made for the test.
@Suite(.timeLimit(.minutes(30)), .serialized)
struct TLSTests {
  @Test func `trusts what it is told to trust`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "haul-tls-\(UUID())").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (certificate, key) = (folder + "/cert.pem", folder + "/key.pem")
    let made = try openssl([
      "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
      "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
    ])
    made.process.waitUntilExit()
    let server = try openssl([
      "s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key, "-www", "-tls1_2",
    ])
    // Started from a thread that blocks SIGTERM, it would outlive that.
    defer {
      kill(server.process.processIdentifier, SIGKILL)
      server.process.waitUntilExit()
    }
    // The first line: ACCEPT 127.0.0.1:<port>
    var said = ""
    while !said.contains("ACCEPT") || !said.hasSuffix("\n") {
      said += String(decoding: server.output.availableData, as: UTF8.self)
    }
    let port = said.split(separator: ":").last.map { $0.filter(\.isNumber) } ?? ""
    let thread = try NetworkThread()
    defer { thread.shutdown() }

    let wrongPin = "sha256//" + Data(repeating: 0, count: 32).base64EncodedString()
    let cases: [(String?, @Sendable (inout CurlOptions) -> Void)] = [
      ("tls", { _ in }),
      (nil, { $0.caFile = certificate }),
      (nil, { $0.insecure = true }),
      (
        "pinMismatch",
        {
          $0.caFile = certificate; $0.pinnedKeys = [wrongPin]
        }
      ),
      (
        "pinMismatch",
        {
          $0.insecure = true; $0.pinnedKeys = [wrongPin]
        }
      ),
      (
        "tls",
        {
          $0.caFile = certificate; $0.minimumTLS = .tls13
        }
      ),
      ("tls", { $0.caFile = "/nonexistent.pem" }),
      (
        "tls",
        {
          $0.insecure = true; $0.clientCertificate = "/nonexistent.pem"
        }
      ),
    ]
    for (index, (kind, change)) in cases.enumerated() {
      var options = CurlOptions()
      change(&options)
      let request = CurlRequest(url: "https://127.0.0.1:\(port)/", options: options)
      let error = await failure { () async throws(CurlError) in
        try await thread.perform(request, sink: Collector())
      }
      #expect(error?.name == kind, "case \(index): \(String(describing: error))")
    }
  }

  private func openssl(_ arguments: [String]) throws -> (process: Process, output: FileHandle) {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/openssl")
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    try process.run()
    return (process, pipe.fileHandleForReading)
  }
}
