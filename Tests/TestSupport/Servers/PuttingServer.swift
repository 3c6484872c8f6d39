/// A web server that takes files by PUT, minds `If-None-Match: *`, and misbehaves as a file's name says.
///
/// `late-…` is not there when it is looked at for the first time, though it is; of `torn-…` it keeps half of the first body
/// and breaks the connection.
package final class PuttingServer: Sendable {
  package let url: String
  private let process: Running
  private let logPath: String

  package init(_ bench: Bench) async throws {
    logPath = bench.scratch.path + "/putting.log"
    let path = try bench.scratch.write("putting.py", PythonParts.server + Self.script)
    process = try bench.serve(Programs.python, ["-u", path, logPath, bench.served])
    url = try await Loopback.announced(process, after: "listening on ")
  }

  /// Its requests: `method`, `path`, `condition` (`If-None-Match`), `status` (0 where none was given).
  package func log() -> [JSON] { JSON.lines(logPath) }

  private static let script = #"""
    import json, os, sys
    seen = set()

    class Handler(http.server.BaseHTTPRequestHandler):
      protocol_version = "HTTP/1.1"
      def log_message(self, *arguments): pass

      def any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        name = os.path.basename(self.path)
        path, word = os.path.join(sys.argv[2], name), name.split("-")[0]
        isFirst = (self.command, name) not in seen
        seen.add((self.command, name))
        isThere, condition = os.path.exists(path), self.headers.get("If-None-Match")
        if self.command == "PUT":
          status = 412 if isThere and condition == "*" else 0 if word == "torn" and isFirst else 201
          if status == 201: open(path, "wb").write(body)
          if status == 0: open(path, "wb").write(body[:len(body) // 2])
        else:
          status = 404 if not isThere or word == "late" and isFirst else 200
        with open(sys.argv[1], "a") as log:
          log.write(json.dumps({"method": self.command, "path": self.path, "condition": condition, "status": status}) + "\n")
        if status == 0:
          self.close_connection = True
          return self.connection.shutdown(2)
        content = open(path, "rb").read() if status == 200 else b""
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET": self.wfile.write(content)

      do_GET = do_HEAD = do_PUT = any

    server = Server(("127.0.0.1", 0), Handler)
    print("listening on http://127.0.0.1:%d" % server.server_address[1], flush=True)
    server.serve_forever()
    """#
}
