import Foundation

/// Takes notices down. The path says how it answers: `/500`, `/404`, `/hang`, `/slow`, `/close`, `/redirect`, `/moody` (by
/// turns 500, a hang, a close, 200); anything else is fine, unless it is down.
package final class HookServer: Sendable {
  package struct Request: Sendable {
    package var method: String
    package var path: String
    package var headers: JSON
    package var body: String
    /// Whether the answer is 200.
    package var isAnswered: Bool
    package var key: String { headers["idempotency-key"].string ?? "" }
  }

  package let url: String
  private let process: Running
  private let logPath: String
  /// Keeps the log's folder.
  private let scratch: Scratch

  package init(_ bench: Bench) async throws {
    scratch = bench.scratch
    logPath = bench.scratch.path + "/hooks-\(UUID().uuidString.prefix(6)).log"
    let script = try bench.scratch.write("hooks.py", PythonParts.server + Self.script)
    process = try bench.serve(Programs.python, ["-u", script, logPath])
    url = try await Loopback.announced(process, after: "listening on ")
  }

  /// Answers 503 to everything, or no longer.
  package func isDown(_ isDown: Bool) throws {
    if isDown {
      try Data().write(to: URL(fileURLWithPath: logPath + ".down"))
    } else {
      try FileManager.default.removeItem(atPath: logPath + ".down")
    }
  }

  /// All requests so far.
  package func requests() throws -> [Request] {
    try String(decoding: FileManager.default.contents(atPath: logPath) ?? Data(), as: UTF8.self)
      .split(separator: "\n").map { line in
        let json = try JSON.parse(String(line))
        return Request(
          method: json["method"].string ?? "", path: json["path"].string ?? "", headers: json["headers"],
          body: json["body"].string ?? "", isAnswered: json["status"].int == 200)
      }
  }

  private static let script = #"""
    import itertools, json, os, sys, threading, time
    lock = threading.Lock()
    moods = itertools.cycle(["500", "200", "hang", "200", "close", "200", "200"])

    class Handler(http.server.BaseHTTPRequestHandler):
      protocol_version = "HTTP/1.1"
      def log_message(self, *arguments): pass

      def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        isDown = os.path.exists(sys.argv[1] + ".down")
        headers = {name.lower(): value for name, value in self.headers.items()}
        word = self.path.split("?")[0].split("/")[1]
        with lock:
          if word == "moody": word = next(moods)
          status = 503 if isDown else int(word) if word.isdigit() else 302 if word == "redirect" else 200
          told = 0 if word in ("hang", "heads", "close") else status
          line = json.dumps({"method": self.command, "path": self.path, "headers": headers, "body": body.decode(), "status": told})
          if not isDown:
            with open(sys.argv[1], "a") as log: log.write(line + "\n")
        if word == "hang": time.sleep(600)
        if word == "heads":
          while True:
            self.connection.sendall(b"HTTP/1.1 102 Processing\r\n\r\n")
            time.sleep(0.2)
        if word == "slow": time.sleep(0.1)
        if word == "close":
          self.close_connection = True
          return self.connection.shutdown(2)
        self.send_response(status)
        if word == "redirect": self.send_header("Location", "/landed")
        self.send_header("Content-Length", "1000" if word == "trickle" else "2")
        self.end_headers()
        while word == "trickle":
          self.wfile.write(b"x")
          time.sleep(0.2)
        self.wfile.write(b"ok")

      do_GET = do_POST = answer

    server = Server(("127.0.0.1", 0), Handler)
    print("listening on http://127.0.0.1:%d" % server.server_address[1], flush=True)
    server.serve_forever()
    """#
}
