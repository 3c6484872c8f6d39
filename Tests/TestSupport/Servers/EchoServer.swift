import Foundation

/// Repeats the credential that it was sent wherever an answer has words: a path says where, and in which coding
/// (`/etag/raw/f`). Files are those of the served folder.
package final class EchoServer: Sendable {
  package let url: String
  private let process: Running

  package init(_ bench: Bench) async throws {
    let path = bench.scratch.path + "/echo-\(UUID().uuidString.prefix(6)).py"
    try Data((PythonParts.server + Self.script).utf8).write(to: URL(fileURLWithPath: path))
    process = try bench.serve(Programs.python, ["-u", path, bench.served], folder: bench.served)
    url = try await Loopback.announced(process, after: "listening on ")
  }

  private static let script = #"""
    import base64, json, os, sys, urllib.parse

    def coded(secret, how):
      if how == "percent": return "".join("%%%02x" % byte for byte in secret.encode())
      if how == "base64": return base64.b64encode(secret.encode()).decode()
      if how == "json": return json.dumps(secret)[1:-1].replace("/", "\\/")
      return secret

    class Handler(http.server.BaseHTTPRequestHandler):
      protocol_version = "HTTP/1.1"
      def log_message(self, *arguments): pass

      def secret(self):
        kind, _, value = self.headers.get("Authorization", "none none").partition(" ")
        if kind == "Basic": return base64.b64decode(value).decode().partition(":")[2] if "plain" in self.path else value
        return self.headers.get("X-Key") or value

      def answer(self, status, headers={}, body=b""):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items(): self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD": self.wfile.write(body)

      def do_HEAD(self): self.do_GET()

      def do_POST(self):
        text = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.path == "/token":
          secret = urllib.parse.parse_qs(text)["client_secret"][0]
          words = json.dumps({"error": "invalid_client", "error_description": "the secret " + secret + " is wrong"})
          return self.answer(401, {"Content-Type": "application/json"}, words.encode())
        members = {"sessionId": self.secret(), "chunkSize": 65536, "expiresAt": "2099-01-01T00:00:00Z"}
        self.answer(201, {"Content-Type": "application/json"}, json.dumps(members).encode())

      def do_GET(self):
        _, what, how, name = (self.path + "///").split("/")[:4]
        said = coded(self.secret(), how)
        if what == "gone": return self.answer(404, {"Content-Type": "application/problem+json"}, json.dumps({"detail": "no " + said}).encode())
        if what == "location": return self.answer(302, {"Location": "/gone/" + how + "/" + said.replace("/", "_") + "/x"})
        if what == "problem": return self.answer(400, {"Content-Type": "application/problem+json"}, json.dumps({"title": "bad " + said, "code": said}).encode())
        path = os.path.join(sys.argv[1], name)
        if not os.path.isfile(path): return self.answer(404)
        data = open(path, "rb").read()
        headers = {"ETag": '"1"'}
        if what == "etag": headers["ETag"] = '"' + said + '"'
        if what == "name": headers["Content-Disposition"] = "attachment; filename=\"" + said.replace("/", "_") + ".bin\""
        if what == "type": headers["Content-Type"] = "text/" + said.replace("/", "_")
        self.answer(200, headers, data)

    server = Server(("127.0.0.1", 0), Handler)
    print("listening on http://127.0.0.1:%d" % server.server_address[1], flush=True)
    server.serve_forever()
    """#
}
