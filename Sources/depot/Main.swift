import ArgumentParser
import CPosix
import DepotServer
import Glibc
import UnixSignals

@main
struct DepotCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "depot",
    abstract: "Serves a folder: ranged downloads, and uploads in chunks that survive interruptions.",
    discussion: """
      Files under --root are at /files/PATH, their metadata at /files/PATH/meta; uploads go through
      /uploads/sessions. State is kept in ROOT/.depot and survives a kill. No TLS: put a proxy in front of it.
      """,
    version: Depot.version)

  @Option(help: "The folder to serve and to store uploads in.")
  var root: String

  @Option(help: "Address and port; port 0 picks a free one.")
  var listen = "127.0.0.1:8080"

  @Option(help: "The environment variable that holds the bearer token every request must carry.")
  var tokenEnv: String?

  @Option(help: "How long an upload session lives, such as 90s, 30m, 24h.")
  var sessionTtl = "24h"

  @Option(help: "The largest chunk, such as 16MiB.")
  var maxChunk = "16MiB"

  @Option(help: "A JSON file of faults to inject; only on a loopback address.")
  var faults: String?

  @Option(help: "A file that gets one JSON line a request.")
  var accessLog: String?

  /// Parses the words of main itself: Swift finds none where a preloaded library has called setenv(3).
  static func main() async {
    await Self.main((1..<max(1, haul_argument_count())).map { String(cString: haul_argument($0)) })
  }

  func run() async throws {
    do {
      let depot = try await Depot.start(try options())
      print("listening on \(depot.url)")
      fflush(nil)
      let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
      for await _ in signals { break }
      // A request that doesn't end in time is cut by our exit: what counts is on disk.
      Task {
        try await Task.sleep(for: .milliseconds(1800))
        _exit(0)
      }
      await depot.stop()
    } catch let error as DepotError {
      complain(error.description)
      throw ExitCode(error.exitCode)
    }
  }

  private func options() throws -> DepotOptions {
    var options = DepotOptions(root: root)
    try options.setListen(listen)
    guard let ttl = Quantity.duration(sessionTtl), ttl >= .seconds(1) else {
      throw DepotError.usage("--session-ttl \(sessionTtl): expected a duration such as 90s, 30m or 24h")
    }
    guard let chunk = Quantity.bytes(maxChunk), chunk > 0 else {
      throw DepotError.usage("--max-chunk \(maxChunk): expected a size such as 16MiB")
    }
    (options.sessionTTL, options.maxChunk) = (ttl, chunk)
    (options.faults, options.accessLog) = (faults, accessLog)
    if let tokenEnv {
      guard let token = getenv(tokenEnv).map({ String(cString: $0) }), !token.isEmpty else {
        throw DepotError.usage(
          "--token-env \(tokenEnv): the environment has no such variable, or it is empty")
      }
      options.token = token
    }
    return options
  }

  private func complain(_ text: String) {
    let line = Array("depot: \(text)\n".utf8)
    _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
