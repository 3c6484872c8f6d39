import Glibc
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// A depot that is listening.
package final class Depot: Sendable {
  package static let version = "0.1.0"

  /// The port that it listens on.
  package let port: Int
  package let url: String
  private let service: DepotService
  private let group: ServiceGroup
  private let running: Task<Void, any Error>

  private init(
    _ port: Int, _ host: String, _ service: DepotService, _ group: ServiceGroup,
    _ running: Task<Void, any Error>
  ) {
    self.port = port
    url = "http://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    self.service = service
    self.group = group
    self.running = running
  }

  /// Reads the state back and listens; returns when requests are answered.
  package static func start(_ options: DepotOptions) async throws -> Depot {
    let service = try DepotService(options)
    var logger = Logger(label: "depot") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = .error
    let ready = AsyncStream<Int>.makeStream()
    let server = try HTTPServerBuilder { responder in
      DepotChannel(
        http: HTTP1Channel(
          responder: responder,
          configuration: .init(additionalChannelHandlers: [HeadTimeout()], idleTimeout: .seconds(300))))
    }.buildServer(
      configuration: ServerConfiguration(
        address: .hostname(options.host, port: options.port),
        availableConnectionsDelegate: MaximumAvailableConnections(ConnectionLimit.raise(), logger: logger)),
      eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: logger,
      responder: { request, writer, channel in try await service.respond(request, writer, channel) },
      onServerRunning: { channel in ready.continuation.yield(channel.localAddress?.port ?? options.port) })
    let group = ServiceGroup(configuration: .init(services: [.init(service: server)], logger: logger))
    let running = Task {
      defer { ready.continuation.finish() }
      try await group.run()
    }
    for await port in ready.stream { return Depot(port, options.host, service, group, running) }
    do {
      try await running.value
    } catch let error as IOError {
      let reason = String(cString: strerror(error.errnoCode))
      throw DepotError.unavailable("cannot listen on \(options.host):\(options.port): \(reason)")
    } catch {
      throw DepotError.unavailable("cannot listen on \(options.host):\(options.port): \(error)")
    }
    throw DepotError.unavailable("cannot listen on \(options.host):\(options.port)")
  }

  /// Stops listening and waits for the requests under way, at most for `grace`.
  ///
  /// Nothing is lost by cutting them: a chunk counts from its journal line on.
  package func stop(grace: Duration = .milliseconds(1500)) async {
    await group.triggerGracefulShutdown()
    let cut = Task { [running] in
      try await Task.sleep(for: grace)
      running.cancel()
    }
    _ = await running.result
    cut.cancel()
    await service.stop()
  }
}
