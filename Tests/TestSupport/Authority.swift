import Foundation

/// A CA and certificates of it, made by openssl.
package struct Authority {
  package let folder: String
  package var ca: String { folder + "/ca.pem" }

  package init(_ bench: Bench, _ name: String) throws {
    folder = try bench.scratch.folder(name)
    try run([
      "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=Test CA \(name)",
      "-keyout",
      folder + "/ca.key", "-out", folder + "/ca.pem",
    ])
  }

  /// - Parameter days: of its validity, from now; a negative one has expired.
  package func issue(_ name: String, host: String, days: Int = 10) throws -> (
    certificate: String, key: String
  ) {
    let stem = folder + "/" + name
    try Data("subjectAltName=\(host)\n".utf8).write(to: URL(fileURLWithPath: stem + ".ext"))
    try run([
      "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=\(name)", "-keyout", stem + ".key", "-out",
      stem + ".csr",
    ])
    try run([
      "x509", "-req", "-in", stem + ".csr", "-CA", ca, "-CAkey", folder + "/ca.key", "-CAcreateserial",
      "-days",
      String(days), "-extfile", stem + ".ext", "-out", stem + ".pem",
    ])
    return (stem + ".pem", stem + ".key")
  }

  /// The pin of a certificate's key, as curl(1) tells to make it.
  package func pin(_ certificate: String) throws -> String {
    try run(["x509", "-in", certificate, "-pubkey", "-noout", "-out", certificate + ".pub"])
    try run([
      "pkey", "-pubin", "-in", certificate + ".pub", "-outform", "der", "-out", certificate + ".der",
    ])
    try run(["dgst", "-sha256", "-binary", "-out", certificate + ".sum", certificate + ".der"])
    let sum = FileManager.default.contents(atPath: certificate + ".sum") ?? Data()
    return "sha256//" + sum.base64EncodedString()
  }

  private func run(_ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/openssl")
    process.arguments = arguments
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw TestFault("openssl \(arguments) failed") }
  }
}
