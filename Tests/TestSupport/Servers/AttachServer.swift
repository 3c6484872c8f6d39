import Foundation

/// Serves and takes files below `/files/`, and what ties them to records anywhere else, in one log.
///
/// The first part of such a path says how it answers: `/500`, `/404`; `/late` (after a second), `/hang`, `/close` (taken, and
/// not answered), `/moody` (all of these by turns); anything else is fine. A key that it has taken is answered well from
/// then on, but by `/NNN`. While it is given a status, that is the answer to all.
package final class AttachServer: Sendable {
  package struct Request: Sendable {
    package var method: String
    package var path: String
    package var headers: JSON
    package var body: String
    /// 0 where none was given.
    package var status: Int
    /// The first of its key that was taken.
    package var isTaken: Bool
    package var key: String { headers["idempotency-key"].string ?? "" }
    package var isOfFile: Bool { path.hasPrefix("/files/") }
  }

  package let url: String
  private let process: Running
  private let logPath: String
  /// Keeps the log's folder.
  private let scratch: Scratch

  package init(_ bench: Bench) async throws {
    scratch = bench.scratch
    logPath = bench.scratch.path + "/attach-\(UUID().uuidString.prefix(6)).log"
    let script = try bench.scratch.write(
      "attach.py",
      PythonParts.server + "import json, os, sys, threading\n" + PythonParts.rangedHandler + Self.script)
    process = try bench.serve(Programs.python, ["-u", script, logPath, bench.served])
    url = try await Loopback.announced(process, after: "listening on ")
  }

  /// Answers so to all that would tie a file, or no longer.
  package func answers(_ status: Int?) throws {
    let url = URL(fileURLWithPath: logPath + ".status")
    if let status {
      try Data("\(status)".utf8).write(to: url, options: .atomic)
    } else {
      try FileManager.default.removeItem(at: url)
    }
  }

  /// All requests so far, in their order.
  package func requests() throws -> [Request] {
    try String(decoding: FileManager.default.contents(atPath: logPath) ?? Data(), as: UTF8.self)
      .split(separator: "\n").map { line in
        let json = try JSON.parse(String(line))
        return Request(
          method: json["method"].string ?? "", path: json["path"].string ?? "", headers: json["headers"],
          body: json["body"].string ?? "", status: Int(json["status"].int ?? 0),
          isTaken: json["taken"].bool ?? false)
      }
  }

  /// Those that tie files.
  package func attaches() throws -> [Request] { try requests().filter { !$0.isOfFile } }

  private static let script = #"""
    import itertools
    lock, taken = threading.Lock(), set()
    moods = itertools.cycle(["500", "ok", "close", "late", "ok", "hang", "503", "ok"])

    class Handler(RangedHandler):
      def note(self, what, status, **more):
        with lock: self.log("", status, False)

      def log(self, body, status, isTaken):
        headers = {name.lower(): value for name, value in self.headers.items()}
        line = json.dumps({"method": self.command, "path": self.path, "headers": headers, "body": body, "status": status, "taken": isTaken})
        with open(sys.argv[1], "a") as log: log.write(line + "\n")

      def any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith("/files/"): return self.whole(body)
        key, mood = self.headers.get("Idempotency-Key", ""), self.path.split("?")[0].split("/")[1]
        with lock:
          if mood == "moody": mood = "ok" if key in taken else next(moods)
          try: status = int(open(sys.argv[1] + ".status").read())
          except FileNotFoundError: status = int(mood) if mood.isdigit() else 200
          isTaken = status < 300 and mood != "hang" and key not in taken
          if isTaken: taken.add(key)
          elif mood in ("late", "close") and key in taken: mood = "ok"
          self.log(body.decode(), 0 if mood in ("hang", "close", "late") else status, isTaken)
        if mood == "hang": time.sleep(600)
        if mood == "late": time.sleep(1)
        if mood == "close":
          self.close_connection = True
          return self.connection.shutdown(2)
        self.reply(status, b'{"said": "%s"}' % self.headers.get("X-Key", "").encode(), {"Content-Type": "application/json"})

      def whole(self, body):
        path = os.path.join(sys.argv[2], self.path[7:])
        if self.command == "PUT":
          os.makedirs(os.path.dirname(path), exist_ok=True)
          with open(path + ".new", "wb") as file: file.write(body)
          os.rename(path + ".new", path)
          with lock: self.log("", 201, False)
          return self.reply(201)
        if not os.path.exists(path):
          with lock: self.log("", 404, False)
          return self.reply(404)
        facts = os.stat(path)
        told = {"ETag": '"%x-%x"' % (facts.st_mtime_ns, facts.st_size), "Content-Type": "video/mp4"}
        if self.command != "HEAD": return self.file(path, told, "file")
        self.note("file", 200)
        self.send_response(200)
        for name, value in dict(told, **{"Content-Length": str(facts.st_size)}).items(): self.send_header(name, value)
        self.end_headers()

      do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = any

    server = Server(("127.0.0.1", 0), Handler)
    print("listening on http://127.0.0.1:%d" % server.server_address[1], flush=True)
    server.serve_forever()
    """#
}
