import Foundation

/// A server that answers, word for word, what a test tells it to, by the first rule whose text is part of the request's
/// path and query.
package final class WordedServer: Sendable {
  package struct Rule: Sendable {
    /// Empty for any request.
    var match: String
    package var status: Int
    package var headers: [String: String]
    package var body: String
    /// Seconds before the answer.
    package var pause: Double

    package init(
      _ match: String, status: Int = 200, headers: [String: String] = [:], body: String = "",
      pause: Double = 0
    ) {
      self.match = match
      self.status = status
      self.headers = headers
      self.body = body
      self.pause = pause
    }
  }

  package let url: String
  private let process: Running
  private let rulesPath: String
  private let logPath: String
  /// Keeps the log's folder.
  private let scratch: Scratch

  package init(_ bench: Bench, _ rules: [Rule]) async throws {
    let stem = bench.scratch.path + "/worded-\(UUID().uuidString.prefix(6))"
    scratch = bench.scratch
    (rulesPath, logPath) = (stem + ".json", stem + ".log")
    try Data((PythonParts.server + Self.script).utf8).write(to: URL(fileURLWithPath: stem + ".py"))
    try Self.write(rules, to: rulesPath)
    process = try bench.serve(Programs.python, ["-u", stem + ".py", rulesPath, logPath])
    url = try await Loopback.announced(process, after: "listening on ")
  }

  /// Gives it other rules, from the next request on.
  package func set(_ rules: [Rule]) throws { try Self.write(rules, to: rulesPath) }

  /// Its requests: `method`, `path`, `at` (seconds since 1970).
  package func log() -> [JSON] { JSON.lines(logPath) }

  private static func write(_ rules: [Rule], to path: String) throws {
    let list: [[String: Any]] = rules.map {
      ["match": $0.match, "status": $0.status, "headers": $0.headers, "body": $0.body, "pause": $0.pause]
    }
    try JSONSerialization.data(withJSONObject: list).write(to: URL(fileURLWithPath: path), options: .atomic)
  }

  private static let script = #"""
    import json, sys, threading, time
    rules, log = sys.argv[1:3]
    lock = threading.Lock()

    class Handler(http.server.BaseHTTPRequestHandler):
      protocol_version = "HTTP/1.1"
      disable_nagle_algorithm = True
      wbufsize = -1
      def log_message(self, *arguments): pass
      def do_GET(self): self.answer()
      def do_HEAD(self): self.answer()
      def do_PUT(self): self.answer()
      def do_POST(self): self.answer()
      def do_DELETE(self): self.answer()

      def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with lock:
          with open(log, "a") as file:
            file.write(json.dumps({"method": self.command, "path": self.path, "at": time.time()}) + "\n")
        with open(rules) as file: known = json.load(file)
        rule = next((r for r in known if r["match"] in self.path), {"status": 404, "headers": {}, "body": "", "pause": 0})
        time.sleep(rule["pause"])
        body = rule["body"].encode()
        self.send_response(rule["status"])
        headers = dict(rule["headers"])
        headers.setdefault("Content-Length", str(len(body)))
        for name, value in headers.items(): self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD": self.wfile.write(body)

    server = Server(("127.0.0.1", 0), Handler)
    print("listening on http://127.0.0.1:%d" % server.server_address[1], flush=True)
    server.serve_forever()
    """#
}
