/// `python3 -m http.server`: knows no ranges and no ETags.
package final class PythonServer: Sendable {
  package let url: String
  private let process: Running

  package init(_ bench: Bench) async throws {
    process = try bench.serve(
      Programs.python,
      ["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", bench.served],
      folder: bench.served)
    let port = try await Loopback.announced(process, after: " port ").prefix { $0.isNumber }
    url = "http://127.0.0.1:\(port)"
  }
}
