import Foundation

/// Two origins of one file each: `late` answers its first request when `prompt` has begun to answer, and `prompt` goes on
/// when it is known what became of that.
package final class LateServer: Sendable {
  package let late: String
  package let prompt: String
  private let process: Running
  private let logPath: String
  /// Keeps the log's folder.
  private let scratch: Scratch

  package init(_ bench: Bench) async throws {
    let stem = bench.scratch.path + "/late-\(UUID().uuidString.prefix(6))"
    scratch = bench.scratch
    logPath = stem + ".log"
    try Data((PythonParts.server + Self.script).utf8).write(to: URL(fileURLWithPath: stem + ".py"))
    process = try bench.serve(Programs.python, ["-u", stem + ".py", logPath], folder: bench.served)
    let ports = try await Loopback.announced(process, after: "listening on ").split(separator: " ")
    late = "http://127.0.0.1:\(ports[0])"
    prompt = "http://127.0.0.1:\(ports[1])"
  }

  /// Its answers as they ended: `what` is `late`, `late dropped`, `prompt` or `prompt dropped`.
  package func log() -> [JSON] { JSON.lines(logPath) }

  private static let script = #"""
    import json, sys, threading
    log, lock = sys.argv[1], threading.Lock()
    begun, settled = threading.Event(), threading.Event()
    # More than sockets take.
    body = bytes(32 << 20)

    class Late(http.server.BaseHTTPRequestHandler):
      protocol_version = "HTTP/1.1"
      def log_message(self, *arguments): pass

      def do_GET(self):
        begun.wait(60)
        self.answer("late", lambda: self.wfile.write(body))
        settled.set()

      def answer(self, what, write):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try: write()
        except OSError: what, self.close_connection = what + " dropped", True
        with lock, open(log, "a") as file: file.write(json.dumps({"what": what}) + "\n")

    class Prompt(Late):
      def do_GET(self):
        half = len(body) // 2
        def write():
          self.wfile.write(body[:half])
          begun.set()
          settled.wait(60)
          self.wfile.write(body[half:])
        self.answer("prompt", write)

    servers = [Server(("127.0.0.1", 0), each) for each in (Late, Prompt)]
    threading.Thread(target=servers[0].serve_forever, daemon=True).start()
    print("listening on %d %d" % tuple(s.server_address[1] for s in servers), flush=True)
    servers[1].serve_forever()
    """#
}
