import Foundation

/// An HTTP proxy that asks for a user and a password, and answers for every host itself.
package final class ProxyServer: Sendable {
  package let url: String
  private let process: Running

  package init(_ bench: Bench, user: String, password: String) async throws {
    let path = bench.scratch.path + "/proxy-\(UUID().uuidString.prefix(6)).py"
    try Data((PythonParts.server + Self.script).utf8).write(to: URL(fileURLWithPath: path))
    let login = Data("\(user):\(password)".utf8).base64EncodedString()
    process = try bench.serve(Programs.python, ["-u", path, login], folder: bench.served)
    url = try await Loopback.announced(process, after: "listening on ")
  }

  private static let script = #"""
    import sys

    class Handler(http.server.BaseHTTPRequestHandler):
      protocol_version = "HTTP/1.1"
      def log_message(self, *arguments): pass
      def do_HEAD(self): self.do_GET()
      def do_GET(self):
        knows = self.headers.get("Proxy-Authorization") == "Basic " + sys.argv[1]
        body = b"through the proxy" if knows and self.path.startswith("http://") else b""
        self.send_response(200 if knows else 407)
        if not knows: self.send_header("Proxy-Authenticate", "Basic realm=p")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"1"')
        self.end_headers()
        if self.command != "HEAD": self.wfile.write(body)

    server = Server(("127.0.0.1", 0), Handler)
    print("listening on http://127.0.0.1:%d" % server.server_address[1], flush=True)
    server.serve_forever()
    """#
}
