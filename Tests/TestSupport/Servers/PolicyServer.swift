import Foundation

/// A server for network policies: it listens where it is told, sends on to anywhere, speaks TLS as it is told, and
/// can be in a bad mood. Every connection and every request is logged with its time.
package final class PolicyServer: Sendable {
  package let url: String
  package let port: Int
  package let process: Running
  private let logPath: String
  /// Keeps the log's folder.
  private let scratch: Scratch

  package struct Setting: Sendable {
    package var address = "127.0.0.1"
    package var port = 0
    /// PEM files.
    package var certificate: String?
    package var key: String?
    /// Wants client certificates of this CA.
    package var clientCA: String?
    /// Speaks TLS 1.1 at most.
    package var isOld = false
    /// One a request, over and over: `ok`, `429`, `503`, `reset`, `stall`.
    package var moods: [String] = []
    /// Closes its ears after so many requests.
    package var life: Int?
    /// Answers 503 while so many others are open; 0 for any number.
    package var room = 0
    /// Bytes a second of bodies.
    package var rate: Int?
    /// A program that it is started through, with its first arguments.
    package var wrapper: [String] = []
    package init() {}
  }

  package init(_ bench: Bench, _ change: (inout Setting) -> Void = { _ in }) async throws {
    var setting = Setting()
    change(&setting)
    let stem = bench.scratch.path + "/policy-\(UUID().uuidString.prefix(6))"
    scratch = bench.scratch
    logPath = stem + ".log"
    try Data(Self.script.utf8).write(to: URL(fileURLWithPath: stem + ".py"))
    let words = [
      bench.served, logPath, setting.address, String(setting.port), setting.certificate ?? "",
      setting.key ?? "",
      setting.clientCA ?? "", setting.isOld ? "old" : "", setting.moods.joined(separator: ","),
      String(setting.life ?? 0), String(setting.rate ?? 0), String(setting.room),
    ]
    let command = setting.wrapper + [Programs.python, "-u", stem + ".py"] + words
    process = try bench.serve(command[0], Array(command.dropFirst()), folder: bench.served)
    port = Int(try await Loopback.announced(process, after: "listening on ")) ?? 0
    let host = setting.address == "0.0.0.0" ? "127.0.0.1" : setting.address
    url = (setting.certificate == nil ? "http" : "https") + "://\(host):\(port)"
  }

  /// What it saw: `connection` or a method, `path`, `at` in seconds, `mood`, `headers`, and how many requests were `open`
  /// then, itself among them.
  package func log() -> [JSON] { JSON.lines(logPath) }
  package func requests() -> [JSON] {
    log().filter { !["connection", "answered"].contains($0["method"].string) }
  }

  /// When each 429 was about to be written and when it was, in seconds.
  package func refusals() -> [(begun: Double, ended: Double)] {
    log().filter { $0["method"].string == "answered" }.map { ($0["begun"].double ?? 0, $0["at"].double ?? 0) }
  }

  /// A URL here that answers with a redirect to `target`.
  package func redirect(to target: String, status: Int = 302) -> String {
    let allowed = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    return url + "/to/\(status)/" + (target.addingPercentEncoding(withAllowedCharacters: allowed) ?? "")
  }

  private static let script = #"""
    import http.server, itertools, json, os, socket, ssl, struct, sys, threading, time, urllib.parse
    root, log, address, port, cert, key, client_ca, old, moods, life, rate, room = sys.argv[1:13]
    moods, life, rate = [m for m in moods.split(",") if m], int(life), int(rate)
    room = int(room)
    lock, number, under_way = threading.Lock(), itertools.count(), [0]

    def count(step):
      with lock:
        under_way[0] += step
        return under_way[0]

    def note(**facts):
      with lock:
        with open(log, "a") as file: file.write(json.dumps(dict(facts, at=time.monotonic())) + "\n")

    class Handler(http.server.BaseHTTPRequestHandler):
      protocol_version = "HTTP/1.1"
      disable_nagle_algorithm = True
      def log_message(self, *arguments): pass
      def do_GET(self): self.answer()
      def do_HEAD(self): self.answer()
      def do_PUT(self): self.answer()

      def answer(self):
        self.open = count(1)
        try: self.respond()
        finally: count(-1)

      def respond(self):
        mine = next(number)
        mood = moods[mine % len(moods)] if moods else "503" if room and self.open > room else "ok"
        headers = {k.lower(): v for k, v in self.headers.items()}
        note(method=self.command, path=self.path, mood=mood, headers=headers, open=self.open, to=self.connection.getsockname()[0])
        if life and mine + 1 >= life:
          self.server.socket.close()
          self.close_connection = True
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if mood == "429":
          begun = time.monotonic()
          self.reply(429, {"Retry-After": "1"}, b"later")
          return note(method="answered", path=self.path, begun=begun)
        if mood == "503": return self.reply(503, {}, b"busy")
        if mood == "stall":
          # Whoever asked may be gone long before: it is not open any more.
          count(-1)
          time.sleep(3)
          count(1)
          self.close_connection = True
          return
        if mood == "reset":
          self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
          self.connection.close()
          self.close_connection = True
          return
        kind, _, rest = self.path.lstrip("/").partition("/")
        if kind == "to":
          status, _, target = rest.partition("/")
          return self.reply(int(status), {"Location": urllib.parse.unquote(target)}, b"")
        if self.command == "PUT": return self.reply(201, {}, b"")
        try: data = open(os.path.join(root, urllib.parse.unquote(rest)), "rb").read()
        except OSError: return self.reply(404, {}, b"no such file")
        facts = {"ETag": '"%x"' % len(data), "Accept-Ranges": "bytes"}
        field = self.headers.get("Range", "")
        if not field.startswith("bytes="): return self.reply(200, facts, data)
        first, _, last = field[6:].partition("-")
        start, end = int(first), min(len(data), int(last) + 1 if last else len(data))
        facts["Content-Range"] = "bytes %d-%d/%d" % (start, end - 1, len(data))
        self.reply(206, facts, data[start:end])

      def reply(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items(): self.send_header(name, value)
        if life: self.send_header("Connection", "close")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD": return
        step = max(1, rate // 20) if rate else max(1, len(body))
        for start in range(0, len(body), step):
          self.wfile.write(body[start:start + step])
          if rate: time.sleep(0.05)

    class Server(http.server.ThreadingHTTPServer):
      daemon_threads = True
      request_queue_size = 256
      address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
      # A socket that is closed with bytes unread takes its last alert with it.
      def handle_error(self, *arguments): time.sleep(0.5 if context else 0)
      def get_request(self):
        try: connection, peer = self.socket.accept()
        except OSError:
          time.sleep(0.05)
          raise
        note(method="connection", path="", to=connection.getsockname()[0])
        if context:
          connection = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, peer

    context = None
    if cert:
      context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      if old:
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        context.set_ciphers("ALL:@SECLEVEL=0")
      context.load_cert_chain(cert, key)
      if client_ca:
        context.load_verify_locations(client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    server = Server((address, int(port)), Handler)
    print("listening on %d" % server.server_address[1], flush=True)
    server.serve_forever()
    """#
}
