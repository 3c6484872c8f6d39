import DepotServer

/// depot over a folder, in this process.
enum DepotInProcess {
  static func start(
    _ folder: String, token: String
  ) async throws -> (url: String, stop: @Sendable () async -> Void) {
    var options = DepotOptions(root: folder)
    (options.port, options.token) = (0, token)
    let depot = try await Depot.start(options)
    return (depot.url, { await depot.stop(grace: .milliseconds(100)) })
  }
}
