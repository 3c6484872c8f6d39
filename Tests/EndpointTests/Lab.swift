import Curl
import Foundation
import Synchronization
import Testing
import TestSupport

@testable import HTTPClient

/// What the tests of the suite share: a running server a row, the network thread.
final class Lab: Sendable {
  @TaskLocal static var current: Lab?

  let bench: Bench
  let thread: NetworkThread
  /// By the row's name.
  private let servers: [String: KindServer]
  private let names = Atomic<Int>(0)

  private init(_ bench: Bench, _ servers: [String: KindServer]) throws {
    (self.bench, self.servers) = (bench, servers)
    thread = try NetworkThread()
  }

  static func open() async throws -> Lab {
    let bench = try Bench()
    let servers = try await withThrowingTaskGroup(of: (String, KindServer).self) { group in
      for kind in EndpointCase.all {
        group.addTask { (kind.name, try await kind.start(bench)) }
      }
      return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
    return try Lab(bench, servers)
  }

  func close() async {
    for server in servers.values { await server.stop() }
    thread.shutdown()
  }

  func server(_ kind: EndpointCase) throws -> KindServer { try #require(servers[kind.name]) }

  /// A name that nothing has yet, for all kinds.
  func freshName() -> String { "x\(names.add(1, ordering: .relaxed).newValue)" }
}

/// Runs the servers while the suite does.
struct EndpointServers: SuiteTrait, TestScoping {
  let isRecursive = false

  func provideScope(
    for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
  ) async throws {
    let lab = try await Lab.open()
    do {
      try await Lab.$current.withValue(lab) { try await body() }
    } catch {
      await lab.close()
      throw error
    }
    await lab.close()
  }
}

extension Trait where Self == EndpointServers {
  static var endpointServers: EndpointServers { EndpointServers() }
}

/// What every kind of endpoint keeps to, whoever its server is: tests over `RemoteSource` and `RemoteSink`.
@Suite(.endpointServers, .timeLimit(.minutes(30)))
enum EndpointContract {}
