import Foundation

/// A web server whose objects are not what they seem, by name: what tells their versions apart, how large they are, and
/// whether they stay the same.
package final class FickleServer: Sendable {
  package let url: String
  private let process: Running
  /// Keeps the script's folder.
  private let scratch: Scratch

  /// Bytes of `/mix` and `/weak`.
  package static let size = 4 << 20

  package init(_ bench: Bench) async throws {
    let path = bench.scratch.path + "/fickle-\(UUID().uuidString.prefix(6)).py"
    scratch = bench.scratch
    try Data((PythonParts.server + Self.script).utf8).write(to: URL(fileURLWithPath: path))
    process = try bench.serve(Programs.python, ["-u", path, String(Self.size)], folder: bench.served)
    url = try await Loopback.announced(process, after: "listening on ")
  }

  private static let script = #"""
    import sys
    size, gets = int(sys.argv[1]), {}

    class Fickle(http.server.BaseHTTPRequestHandler):
      protocol_version = "HTTP/1.1"
      def log_message(self, *arguments): pass
      def do_HEAD(self): self.answer()
      def do_GET(self):
        gets[self.path] = gets.get(self.path, 0) + 1
        self.answer()

      def head(self, status, headers):
        self.send_response(status)
        for name, value in headers.items(): self.send_header(name, value)
        self.end_headers()
        return self.command == "GET"

      def answer(self):
        count, wish = gets.get(self.path, 0), re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if self.path == "/mix":
          # No validator and no ranges: breaks off in an A, and is a B from then on.
          if not self.head(200, {"Content-Length": str(size)}): return
          self.wfile.write((b"A" if count == 1 else b"B") * (size * 3 // 4 if count == 1 else size))
          if count == 1: self.close_connection = True
        elif self.path == "/weak":
          # A weak tag that stays the same while the bytes change.
          first, last = (int(wish[1]), int(wish[2])) if wish else (0, size - 1)
          facts = {"ETag": 'W/"o"', "Accept-Ranges": "bytes", "Content-Length": str(last - first + 1)}
          if wish: facts["Content-Range"] = "bytes %d-%d/%d" % (first, last, size)
          if self.head(206 if wish else 200, facts): self.wfile.write((b"A" if count < 3 else b"B") * (last - first + 1))
        elif self.path == "/long":
          # More comes than HEAD told.
          if self.command == "HEAD": return self.head(200, {"Content-Length": "1000"})
          self.head(200, {"Transfer-Encoding": "chunked"})
          for _ in range(20): self.wfile.write(b"2710\r\n" + b"x" * 10000 + b"\r\n")
          self.wfile.write(b"0\r\n\r\n")
        elif self.path == "/empty":
          # HEAD tells nothing of the bytes that there are.
          facts = {"ETag": '"e"', "Content-Length": "0" if self.command == "HEAD" else "5000"}
          if self.head(200, facts): self.wfile.write(b"y" * 5000)
        elif self.path == "/huge":
          facts = {"ETag": '"h"', "Accept-Ranges": "bytes", "Content-Length": str(1 << 60)}
          self.head(200, facts)
          self.close_connection = True
        elif self.path == "/picture":
          # No ranges, and a picture whose end is looked at.
          body = b"\xff\xd8\xff\xe0" + b"\0" * 300000 + b"\xff\xd9"
          if self.head(200, {"ETag": '"p"', "Content-Length": str(len(body))}): self.wfile.write(body)
        else: self.head(404, {"Content-Length": "0"})

    server = Server(("127.0.0.1", 0), Fickle)
    print("listening on http://127.0.0.1:%d" % server.server_address[1], flush=True)
    server.serve_forever()
    """#
}
