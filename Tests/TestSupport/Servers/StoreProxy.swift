import Foundation

/// A proxy before a store that passes requests on as they are, so that signatures hold, but where a rule matches one:
/// `flip` a bit of its body, `drop` its answer, put a `gateway`'s 504 or a `refusal` (403) in its place, make the uploads that it lists an hour older
/// (`age`), `hold` it until the rules change, or let another client's object `intrude`
/// at `key` before it.
package final class StoreProxy: Sendable {
  package let url: String
  private let process: Running
  private let rulesPath: String
  private let logPath: String
  /// Keeps the log's folder.
  private let scratch: Scratch

  /// - Parameter rules: as JSON: `method`, `match` (in the path and query), `do`, `times` (1), `skip` (0).
  package init(_ bench: Bench, _ store: Store, _ rules: [String] = []) async throws {
    let stem = bench.scratch.path + "/proxy-\(UUID().uuidString.prefix(6))"
    scratch = bench.scratch
    (rulesPath, logPath) = (stem + ".json", stem + ".log")
    let script = try bench.scratch.write(
      "proxy-\(UUID().uuidString.prefix(6)).py", Store.client(store.url) + Self.script)
    try Self.write(rules, rulesPath)
    let port = store.url.split(separator: ":").last ?? ""
    process = try bench.serve(
      try Venv.python(), ["-u", script, String(port), rulesPath, logPath], environment: Store.environment)
    url = "http://127.0.0.1:" + (try await Loopback.announced(process, after: "port "))
  }

  /// Other rules, from the next request on.
  package func set(_ rules: [String]) throws { try Self.write(rules, rulesPath) }

  private static func write(_ rules: [String], _ path: String) throws {
    try Data("[\(rules.joined(separator: ", "))]".utf8).write(
      to: URL(fileURLWithPath: path), options: .atomic)
  }

  /// What went through it, as `PUT /bkt/k?partNumber=1 200`; status 0 where the answer was dropped.
  package var visits: [String] {
    String(decoding: FileManager.default.contents(atPath: logPath) ?? Data(), as: UTF8.self)
      .split(separator: "\n").map(String.init)
  }

  private static let script = #"""
    import datetime, re, socket, socketserver, threading
    port, rules_path, log_path = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    lock, used, seen = threading.Lock(), {}, {}

    def rules():
      with open(rules_path) as file: return json.load(file)

    def rule_for(method, target):
      with lock:
        for rule in rules():
          if rule["method"] != method or rule.get("match", "") not in target: continue
          name = json.dumps(rule, sort_keys=True)
          seen[name] = seen.get(name, 0) + 1
          if seen[name] <= rule.get("skip", 0) or used.get(name, 0) >= rule.get("times", 1): continue
          used[name] = used.get(name, 0) + 1
          return rule
      return {"do": ""}

    def read_head(stream):
      head = b""
      while not head.endswith(b"\r\n\r\n"):
        line = stream.readline()
        if not line: return None
        head += line
      return head

    def field(head, name):
      for line in head.split(b"\r\n")[1:]:
        if line.lower().startswith(name + b":"): return line.split(b":", 1)[1].strip()

    def aged(piece):
      def earlier(match):
        then = datetime.datetime.fromisoformat(match[2].decode()) - datetime.timedelta(hours=1)
        return match[1] + then.isoformat().encode()
      return re.sub(rb"(<Initiated>)(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)", earlier, piece)

    class Handler(socketserver.StreamRequestHandler):
      def handle(self):
        try: self.pass_on()
        except OSError: pass

      def pass_on(self):
        server = socket.create_connection(("127.0.0.1", port))
        back = server.makefile("rb")
        while True:
          head = read_head(self.rfile)
          if head is None: return
          method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
          body = self.rfile.read(int(field(head, b"content-length") or 0))
          rule = rule_for(method, target)
          if rule["do"] == "flip" and body: body = body[:len(body) // 2] + bytes([body[len(body) // 2] ^ 4]) + body[len(body) // 2 + 1:]
          if rule["do"] == "intrude": s3.put_object(Bucket=rule.get("bucket", "bkt"), Key=rule["key"], Body=b"another's")
          if rule["do"] == "hold":
            self.log("held %s" % target)
            while rule in rules(): time.sleep(0.02)
          server.sendall(head + body)
          answer = read_head(back)
          if answer is None: return
          status, length = answer.split(b" ")[1].decode(), field(answer, b"content-length")
          self.log("%s %s %s" % (method, target, {"drop": 0, "gateway": 504, "refusal": 403}.get(rule["do"], status)))
          if rule["do"] in ("gateway", "refusal"):
            line = {"gateway": b"504 Gateway Timeout", "refusal": b"403 Forbidden"}[rule["do"]]
            self.wfile.write(b"HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % line)
            return
          change = aged if rule["do"] == "age" else lambda piece: piece
          bare = method == "HEAD" or status in ("204", "304")
          if not bare and length is None: answer = answer[:-2] + b"Connection: close\r\n\r\n"
          if rule["do"] == "drop":
            if not bare and length: back.read(int(length))
            return
          self.wfile.write(answer)
          if bare: continue
          if length is None: return self.rest(back, change)
          left = int(length)
          while left:
            piece = back.read(min(left, 1 << 18))
            if not piece: return
            self.wfile.write(change(piece))
            left -= len(piece)

      # Chunked coding: passed on as it is, up to its end.
      def rest(self, back, change):
        while True:
          line = back.readline()
          self.wfile.write(line)
          size = int(line.split(b";")[0], 16)
          self.wfile.write(change(back.read(size + 2)))
          if size == 0: return

      def log(self, line):
        with lock, open(log_path, "a") as file: file.write(line + "\n")

    class Server(socketserver.ThreadingTCPServer):
      daemon_threads = True
      allow_reuse_address = True
      request_queue_size = 64

    server = Server(("127.0.0.1", 0), Handler)
    print("port %d" % server.server_address[1], flush=True)
    server.serve_forever()
    """#
}
