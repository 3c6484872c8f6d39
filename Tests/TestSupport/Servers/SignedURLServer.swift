import Foundation

/// Serves and takes files under URLs whose signature (`sig`) is the one that counts now; bodies go slowly.
package final class SignedURLServer: Sendable {
  package let url: String
  private let process: Running
  private let rule: String

  package init(_ bench: Bench, _ signature: String) async throws {
    let stem = bench.scratch.path + "/signed-\(UUID().uuidString.prefix(6))"
    rule = stem + ".rule"
    try Data(signature.utf8).write(to: URL(fileURLWithPath: rule))
    try Data((PythonParts.server + PythonParts.rangedHandler + Self.script).utf8).write(
      to: URL(fileURLWithPath: stem + ".py"))
    process = try bench.serve(
      Programs.python, ["-u", stem + ".py", bench.served, rule], folder: bench.served)
    url = try await Loopback.announced(process, after: "listening on ")
  }

  /// Only this signature counts from now on.
  package func take(_ signature: String) throws {
    try Data(signature.utf8).write(to: URL(fileURLWithPath: rule), options: .atomic)
  }

  private static let script = #"""
    import os, sys, time, urllib.parse
    folder, rule = sys.argv[1:3]

    class Handler(RangedHandler):
      def note(self, *arguments, **more): pass
      def allowed(self):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        return query.get("sig") == [open(rule).read().strip()]
      def place(self): return os.path.join(folder, urllib.parse.urlsplit(self.path).path.lstrip("/"))
      def do_HEAD(self): self.do_GET()
      def do_GET(self):
        if not self.allowed(): return self.reply(403, b"expired")
        if not os.path.exists(self.place()): return self.reply(404)
        self.file(self.place(), {"ETag": '"1"'}, "bytes", 400000)
      def do_PUT(self):
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if not self.allowed(): return self.reply(403, b"expired")
        open(self.place(), "wb").write(data)
        self.reply(201)

    server = Server(("127.0.0.1", 0), Handler)
    print("listening on http://127.0.0.1:%d" % server.server_address[1], flush=True)
    server.serve_forever()
    """#
}
