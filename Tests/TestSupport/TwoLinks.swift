import Foundation

/// Two network namespaces with two links between them, `left` (10.77.1.0/24) and `right` (10.77.2.0/24). The server's
/// address 10.77.9.9 is reached by either; the left one is preferred. For root only.
package final class TwoLinks: Sendable {
  package let client: String
  package let server: String
  package static let address = "10.77.9.9"
  private let scratch: Scratch

  package static var isPossible: Bool { getuid() == 0 && Programs.find("ip") != nil }

  package init(_ bench: Bench) async throws {
    let tag = UUID().uuidString.prefix(6).lowercased()
    (client, server) = ("haul-\(tag)-c", "haul-\(tag)-s")
    scratch = bench.scratch
    for name in [client, server] {
      try ip("netns", "add", name)
      try ip("-n", name, "link", "set", "lo", "up")
    }
    for (link, net) in [("left", 1), ("right", 2)] {
      try ip("-n", client, "link", "add", link, "type", "veth", "peer", "name", link, "netns", server)
      try ip("-n", client, "addr", "add", "10.77.\(net).1/24", "dev", link)
      try ip("-n", server, "addr", "add", "10.77.\(net).2/24", "dev", link)
      try ip("-n", server, "link", "set", link, "up")
      try await up(link)
    }
    try ip("-n", server, "addr", "add", Self.address + "/32", "dev", "lo")
  }

  /// A file on a server that both links lead to.
  package static func serving(
    _ name: String, size: Int
  ) async throws -> (bench: Bench, links: TwoLinks, server: PolicyServer) {
    let bench = try Bench()
    try bench.serve(name, size: size)
    let links = try await TwoLinks(bench)
    let server = try await PolicyServer(bench) {
      $0.address = "0.0.0.0"
      $0.wrapper = links.inServer
    }
    return (bench, links, server)
  }

  deinit {
    for name in [client, server] { _ = try? ip("netns", "del", name) }
  }

  /// Starts a program there.
  package var inClient: [String] { ["ip", "netns", "exec", client] }
  package var inServer: [String] { ["ip", "netns", "exec", server] }

  /// Brings a link of the client's up, with its way to the server.
  package func up(_ link: String) async throws {
    try ip("-n", client, "link", "set", link, "up")
    let net = link == "left" ? 1 : 2
    try ip(
      "-n", client, "route", "replace", Self.address, "via", "10.77.\(net).2", "dev", link, "metric",
      String(net * 100))
  }

  package func down(_ link: String) throws { try ip("-n", client, "link", "set", link, "down") }

  /// Bytes that the client received over a link.
  package func received(_ link: String) throws -> Int {
    let text = try ip("-n", client, "-j", "-s", "link", "show", link)
    return Int(try JSON.parse(text)[0]["stats64"]["rx"]["bytes"].int ?? -1)
  }

  @discardableResult
  private func ip(_ words: String...) throws -> String {
    let tool = try Running(
      "ip", words, environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"], folder: "/", scratch: scratch.path)
    let end = tool.waitHere()
    guard end.status == 0 else { throw TestFault("ip \(words.joined(separator: " ")): \(end.errors)") }
    return end.output
  }
}
