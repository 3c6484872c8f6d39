import Glibc
import NIOPosix

/// An answer as it came over the socket.
struct Reply: Sendable {
  var status: Int
  var headers: [String: String]
  var body: [UInt8]

  var text: String { String(decoding: body, as: UTF8.self) }
  /// Whether as many bytes came as Content-Length promised.
  var isComplete: Bool { headers["content-length"].flatMap { Int($0) } == body.count }

  /// The value after `"key":"` in a JSON body.
  func field(_ key: String) -> String? {
    guard let start = text.range("\"\(key)\":\"") else { return nil }
    return String(text[start...].prefix { $0 != "\"" })
  }

  /// The integers of a JSON array.
  func numbers(_ key: String) -> [Int] {
    guard let start = text.range("\"\(key)\":[") else { return [] }
    return text[start...].prefix { $0 != "]" }.split(separator: ",").compactMap { Int($0) }
  }
}

extension String {
  /// The position after the first occurrence of `needle`.
  func range(_ needle: String) -> String.Index? {
    var index = startIndex
    while index < endIndex {
      if self[index...].hasPrefix(needle) { return self.index(index, offsetBy: needle.count) }
      index = self.index(after: index)
    }
    return nil
  }
}

/// One request a connection over a plain socket, so that what comes is seen as it is: cut, too long, or absent.
struct RawClient: Sendable {
  var port: Int
  var token: String?

  /// - Parameter coding: of the body as it is sent, in place of a Content-Length.
  func send(
    _ method: String, _ path: String, _ headers: [String: String] = [:], body: [UInt8] = [],
    coding: String? = nil, sendOnly: Int? = nil
  ) async throws -> Reply? {
    var head = "\(method) \(path) HTTP/1.1\r\nHost: depot\r\nConnection: close\r\n"
    if let coding {
      head += "Transfer-Encoding: \(coding)\r\n"
    } else if !body.isEmpty || method != "GET" {
      head += "Content-Length: \(body.count)\r\n"
    }
    if let token { head += "Authorization: Bearer \(token)\r\n" }
    for (name, value) in headers { head += "\(name): \(value)\r\n" }
    let bytes = Array((head + "\r\n").utf8) + body.prefix(sendOnly ?? body.count)
    let port = self.port
    let closes = sendOnly != nil
    let received = try await NIOThreadPool.singleton.runIfActive {
      try Self.exchange(bytes, port: port, closes: closes)
    }
    return Self.parse(received, isHead: method == "HEAD")
  }

  private static func exchange(_ bytes: [UInt8], port: Int, closes: Bool) throws -> [UInt8] {
    let socket = try connected(to: port)
    defer { close(socket) }
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { break }
      sent += count
    }
    if closes { return [] }
    var received: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = recv(socket, &block, block.count, 0)
      if count <= 0 { return received }
      received.append(contentsOf: block[..<count])
    }
  }

  /// A socket that waits 20 seconds for what it receives.
  static func connected(to port: Int) throws -> Int32 {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else {
      close(socket)
      throw Refused()
    }
    return socket
  }

  struct Refused: Error {}

  private static func parse(_ bytes: [UInt8], isHead: Bool) -> Reply? {
    var bytes = bytes[...]
    while true {
      guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: [13, 10, 13, 10]) }) else {
        return nil
      }
      let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
      bytes = bytes[(end + 4)...]
      let status = lines.first.flatMap { Int($0.split(separator: " ")[1]) } ?? 0
      if status == 100 { continue }
      var headers: [String: String] = [:]
      for line in lines.dropFirst() {
        guard let colon = line.firstIndex(of: ":") else { continue }
        headers[line[..<colon].lowercased()] = String(line[line.index(after: colon)...].drop { $0 == " " })
      }
      return Reply(status: status, headers: headers, body: Array(bytes))
    }
  }
}
