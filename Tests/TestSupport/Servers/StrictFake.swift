import Foundation

/// A small server that keeps strictly to what a real service does, and refuses what that would refuse. Written from
/// the wire facts, in Python, so that nothing of haul's own understanding is in it.
package final class StrictFake: Sendable {
  package let url: String
  package let process: Running
  private let logPath: String
  /// Keeps the log's folder.
  private let scratch: Scratch

  /// - Parameters:
  ///   - options: members of a JSON object, as the script reads them.
  ///   - port: one that it must have again after a restart; it finds what it held.
  package init(
    _ bench: Bench, _ kind: Kind, options: [String] = [], folder: String? = nil, port: Int = 0
  ) async throws {
    scratch = bench.scratch
    let root = folder ?? bench.served
    let stem = bench.scratch.path + "/\(kind.rawValue)-\(UUID().uuidString.prefix(6))"
    logPath = stem + ".log"
    let own = [
      "\"root\": \(quoted(root))", "\"log\": \(quoted(logPath))", "\"port\": \(port)",
    ]
    try Data("{\((own + options).joined(separator: ", "))}".utf8).write(
      to: URL(fileURLWithPath: stem + ".json"))
    try Data((Self.base + kind.script + Self.start).utf8).write(to: URL(fileURLWithPath: stem + ".py"))
    process = try bench.serve(Programs.python, ["-u", stem + ".py", stem + ".json"], folder: root)
    url = try await Loopback.announced(process, after: "listening on ")
  }

  package enum Kind: String, Sendable {
    case tus, kii
    var script: String {
      switch self {
      case .tus: StrictFake.tus
      case .kii: StrictFake.kii
      }
    }
  }

  package var port: Int { Int(url.split(separator: ":").last ?? "") ?? 0 }

  /// Its requests: method, path, status, headers (names in lower case), and `taken`: body bytes that it kept.
  package func log() -> [JSON] { JSON.lines(logPath) }

  /// Body bytes that requests of a method brought and that were kept.
  package func taken(_ method: String) -> Int64 {
    log().filter { $0["method"].string == method }.reduce(0) { $0 + ($1["taken"].int ?? 0) }
  }

  package func count(_ method: String, _ suffix: String = "", status: Int64? = nil) -> Int {
    log().count {
      $0["method"].string == method && $0["path"].string?.hasSuffix(suffix) == true
        && (status == nil || $0["status"].int == status)
    }
  }
}

extension StrictFake {
  /// Faults by the number of a request of its kind: `"lose": {"patch": [2]}` does what the second PATCH wants and says
  /// nothing, and `"hang"` waits besides until the client has gone; `"fail"` answers 503; `rate` is in bytes a second; `token_file` holds the only token that is right now.
  static let base = #"""
    import base64, collections, email.utils, hashlib, http.server, json, os, re, sys, threading, time, urllib.parse
    options = json.load(open(sys.argv[1]))
    root, lock, counts = options["root"], threading.RLock(), collections.Counter()

    class Refused(Exception):
      def __init__(self, status, body=b"", headers=None):
        self.status, self.body, self.headers = status, body, headers or {}

    class Cut(Exception): pass

    def save(path, data):
      with open(path + ".new", "wb") as file: file.write(data)
      os.replace(path + ".new", path)

    class Base(http.server.BaseHTTPRequestHandler):
      protocol_version = "HTTP/1.1"
      def log_message(self, *arguments): pass

      def any(self):
        self.status, self.taken, self.left = None, 0, int(self.headers.get("Content-Length") or 0)
        self.place = urllib.parse.urlsplit(self.path).path
        try:
          if "transfer-encoding" in self.headers: raise Refused(411)
          self.authorise()
          self.act()
        except Refused as refused:
          self.drain()
          self.close_connection = True
          self.reply(refused.status, refused.headers, refused.body)
        except (Cut, ConnectionError): self.close_connection = True
        finally: self.note()
      do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = any

      def authorise(self):
        if "token_file" in options:
          if self.headers.get("Authorization") != "Bearer " + open(options["token_file"]).read().strip():
            raise Refused(401)

      def nth(self, kind):
        with lock:
          counts[kind] += 1
          number = counts[kind]
        if number in options.get("fail", {}).get(kind, []): raise Refused(503)
        return number

      def loses(self, kind, number):
        if number in options.get("lose", {}).get(kind, []): raise Cut()
        if number in options.get("hang", {}).get(kind, []):
          self.rfile.read(1)
          raise Cut()

      def blocks(self, limit=None):
        """The body as it comes; ends early where the connection does."""
        begun, total = time.monotonic(), 0
        while self.left and (limit is None or total < limit):
          block = self.rfile.read1(min(65536, self.left, limit - total if limit is not None else 65536))
          if not block: raise Cut()
          self.left -= len(block)
          total += len(block)
          yield block
          if "rate" in options:
            time.sleep(max(0, begun + total / options["rate"] - time.monotonic()))

      def body(self): return b"".join(self.blocks())

      def drain(self):
        try:
          while self.left:
            block = self.rfile.read1(min(65536, self.left))
            if not block: return
            self.left -= len(block)
        except OSError: pass

      def reply(self, status, headers={}, body=b""):
        self.status = status
        self.send_response(status)
        headers = dict(headers)
        if status != 204 and "Content-Length" not in headers: headers["Content-Length"] = str(len(body))
        for name, value in headers.items(): self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD" and status != 204: self.wfile.write(body)

      def stream(self, status, headers, path, start, end, gone=lambda: False):
        self.status = status
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(end - start)}.items(): self.send_header(name, value)
        self.end_headers()
        begun, sent = time.monotonic(), 0
        with open(path, "rb") as file:
          file.seek(start)
          while start + sent < end:
            if gone(): raise Cut()
            block = file.read(min(65536, end - start - sent))
            self.wfile.write(block)
            sent += len(block)
            self.taken = sent
            if "rate" in options:
              time.sleep(max(0, begun + sent / options["rate"] - time.monotonic()))

      def wanted(self, size):
        """The one range asked for, or all; None where it can't be had."""
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not match: return 0, size, 200
        start, end = int(match[1]), min(size, int(match[2]) + 1)
        return (start, end, 206) if start < end else None

      def note(self):
        line = {"method": self.command, "path": self.path, "status": self.status, "taken": self.taken,
                "headers": {k.lower(): v for k, v in self.headers.items()}}
        with lock, open(options["log"], "a") as file: file.write(json.dumps(line) + "\n")

    """#

  static let start = #"""

    class Server(http.server.ThreadingHTTPServer):
      daemon_threads = True
      request_queue_size = 64
      allow_reuse_address = True
      def handle_error(self, *arguments): pass

    server = Server(("127.0.0.1", options["port"]), Handler)
    print("listening on http://127.0.0.1:%d" % server.server_address[1], flush=True)
    server.serve_forever()
    """#
}
