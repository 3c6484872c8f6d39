import Foundation

/// A server that writes down how many bytes it sent and received in each hundredth of a second.
package final class MeteredServer: Sendable {
  package let url: String
  private let process: Running
  private let logPath: String
  /// Keeps the log's folder.
  private let scratch: Scratch

  /// - Parameters:
  ///   - size: bytes of each file that it offers; every name is one.
  ///   - buffer: bytes of its sockets' send buffers: what it writes counts, not what has arrived.
  package init(_ bench: Bench, size: Int, buffer: Int) async throws {
    scratch = bench.scratch
    logPath = bench.scratch.path + "/metered.log"
    let script = try bench.scratch.write("metered.py", Self.script)
    process = try bench.serve(Programs.python, ["-u", script, logPath, String(size), String(buffer)])
    url = "http://127.0.0.1:" + (try await Loopback.announced(process, after: "port "))
  }

  /// Bytes that its sockets took from it, or gave to it, by hundredths of a second since the first.
  package func bytes() -> [Int] {
    let pairs = pairs()
    guard let first = pairs.first?.hundredth else { return [] }
    return Self.bytes(pairs, from: first)
  }

  /// The same since a moment of `now`.
  package func bytes(since moment: Double) -> [Int] { Self.bytes(pairs(), from: Int(moment * 100)) }

  /// Seconds of the clock that it measures by.
  package static var now: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private func pairs() -> [(hundredth: Int, bytes: Int)] {
    let lines = (try? String(contentsOfFile: logPath, encoding: .utf8))?.split(separator: "\n") ?? []
    return lines.map { $0.split(separator: " ").compactMap { Int($0) } }.filter { $0.count == 2 }
      .map { ($0[0], $0[1]) }
  }

  private static func bytes(_ pairs: [(hundredth: Int, bytes: Int)], from first: Int) -> [Int] {
    guard let last = pairs.map(\.hundredth).max(), last >= first else { return [] }
    var bytes = Array(repeating: 0, count: last - first + 1)
    for pair in pairs where pair.hundredth >= first { bytes[pair.hundredth - first] += pair.bytes }
    return bytes
  }

  private static let script = #"""
    import http.server, re, socket, socketserver, sys, threading, time
    log, size, buffer = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    lock, bins = threading.Lock(), {}
    block = bytes(range(256)) * 256

    def count(n):
      with lock:
        now = int(time.monotonic() * 100)
        bins[now] = bins.get(now, 0) + n

    def write():
      while True:
        time.sleep(0.05)
        with lock:
          now = int(time.monotonic() * 100)
          done = sorted(k for k in bins if k < now)
          with open(log, "a") as file:
            for k in done: file.write("%d %d\n" % (k, bins.pop(k)))

    class Handler(http.server.BaseHTTPRequestHandler):
      protocol_version = "HTTP/1.1"
      def log_message(self, *arguments): pass
      def setup(self):
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
        super().setup()
      def head(self):
        match = re.match(r"bytes=(\d+)-(\d+)$", self.headers.get("Range", ""))
        first, last = (int(match[1]), min(int(match[2]), size - 1)) if match else (0, size - 1)
        self.send_response(206 if match else 200)
        if match: self.send_header("Content-Range", "bytes %d-%d/%d" % (first, last, size))
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("ETag", '"one"')
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        return first, last + 1
      def do_HEAD(self): self.head()
      def do_GET(self):
        at, end = self.head()
        self.wfile.flush()
        while at < end:
          start = at % 65536
          sent = self.connection.send(block[start:min(65536, start + min(end - at, max(1024, buffer // 4)))])
          count(sent)
          at += sent
      def do_PUT(self):
        left = int(self.headers["Content-Length"])
        while left:
          got = self.rfile.read1(min(left, 16384))
          if not got: raise ConnectionError
          count(len(got))
          left -= len(got)
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
      daemon_threads = True
      request_queue_size = 128

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=write, daemon=True).start()
    print("port", server.server_port, flush=True)
    server.serve_forever()
    """#
}
