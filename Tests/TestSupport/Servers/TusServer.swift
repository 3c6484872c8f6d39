import Foundation

/// tuspyserver, a tus server that nobody here wrote (PyPI, FastAPI on uvicorn), from the environment that
/// `Scripts/setup` makes. Uploads are made at `/files` and lie in its folder under their ids.
///
/// It offers no checksums and no GET, and answers OPTIONS at `/files/` only.
package final class TusServer: Sendable {
  package let port: Int
  package let process: Running
  package let folder: String
  private let logPath: String
  /// Keeps the log's folder.
  private let scratch: Scratch

  /// - Parameters:
  ///   - port: one that it must have again after a restart.
  ///   - folder: `served/tus` where none is given.
  package init(_ bench: Bench, port: Int? = nil, folder: String? = nil) async throws {
    scratch = bench.scratch
    self.folder = folder ?? bench.served + "/tus"
    let stem = bench.scratch.path + "/tuspy-\(UUID().uuidString.prefix(6))"
    logPath = stem + ".log"
    try Data(Self.script.utf8).write(to: URL(fileURLWithPath: stem + ".py"))
    let python = try Venv.python()
    let start = { [folder = self.folder, logPath] (port: Int) in
      try bench.serve(python, ["-u", stem + ".py", folder, logPath, String(port)], folder: bench.served)
    }
    if let port {
      (self.port, process) = (port, try start(port))
      try await Loopback.ready(process, port: port)
    } else {
      (self.port, process) = try await Loopback.serve(start)
    }
  }

  package var url: String { "http://127.0.0.1:\(port)" }

  /// Its requests: method, path, status, `offset` as sent, `taken`: body bytes that came in.
  package func log() -> [JSON] { JSON.lines(logPath) }

  package func taken() -> Int64 {
    log().filter { $0["method"].string == "PATCH" }.reduce(0) { $0 + ($1["taken"].int ?? 0) }
  }

  /// What stands under the URL that an upload was given.
  package func path(of remoteID: String?) -> String {
    folder + "/" + (remoteID.flatMap { $0.split(separator: "/").last }.map(String.init) ?? "none")
  }

  private static let script = #"""
    import json, sys, fastapi, uvicorn, tuspyserver
    folder, log, port = sys.argv[1:4]

    class Log:
      def __init__(self, app): self.app = app
      async def __call__(self, scope, receive, send):
        if scope["type"] != "http": return await self.app(scope, receive, send)
        line = {"method": scope["method"], "path": scope["path"], "status": None, "taken": 0,
                "headers": {k.decode(): v.decode() for k, v in scope["headers"]}}
        async def take():
          message = await receive()
          line["taken"] += len(message.get("body") or b"")
          return message
        async def give(message):
          if message["type"] == "http.response.start": line["status"] = message["status"]
          await send(message)
        try: await self.app(scope, take, give)
        finally:
          with open(log, "a") as file: file.write(json.dumps(line) + "\n")

    app = fastapi.FastAPI()
    app.include_router(tuspyserver.create_tus_router(prefix="files", files_dir=folder, strict_offset_validation=True))
    uvicorn.run(Log(app), host="127.0.0.1", port=int(port), log_level="warning", access_log=False)
    """#
}
