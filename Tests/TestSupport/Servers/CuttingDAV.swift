import Foundation

/// A WebDAV server that keeps the first 1000 bytes of what is PUT, so many times.
package final class CuttingDAV: Sendable {
  package let url: String
  /// What it serves.
  package let folder: String
  private let process: Running
  /// Keeps the folder.
  private let scratch: Scratch

  package init(_ bench: Bench, cuts: Int) async throws {
    scratch = bench.scratch
    let own = try bench.scratch.folder("cutting-\(UUID().uuidString.prefix(6))")
    folder = own + "/files"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data((PythonParts.server + Self.script).utf8).write(to: URL(fileURLWithPath: own + "/server.py"))
    process = try bench.serve(Programs.python, ["-u", own + "/server.py", folder, String(cuts)], folder: own)
    url = try await Loopback.announced(process, after: "listening on ")
  }

  private static let script = #"""
    import os, sys, urllib.parse
    folder, cuts = sys.argv[1], int(sys.argv[2])
    told = '<D:multistatus xmlns:D="DAV:"><D:response><D:href>%s</D:href><D:propstat><D:prop><D:resourcetype/>' \
      '<D:getcontentlength>%d</D:getcontentlength></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>' \
      '</D:response></D:multistatus>'

    class Cutting(http.server.BaseHTTPRequestHandler):
      protocol_version = "HTTP/1.1"
      def log_message(self, *arguments): pass

      def place(self, url): return folder + urllib.parse.unquote(urllib.parse.urlparse(url).path)

      def reply(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

      def do_PUT(self):
        global cuts
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if cuts > 0: cuts, body = cuts - 1, body[:1000]
        with open(self.place(self.path), "wb") as file: file.write(body)
        self.reply(201)

      def do_PROPFIND(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        own = self.place(self.path)
        if not os.path.isfile(own): return self.reply(404)
        self.reply(207, (told % (self.path, os.path.getsize(own))).encode())

      def do_MOVE(self):
        own, other = self.place(self.path), self.place(self.headers["Destination"])
        if not os.path.isfile(own): return self.reply(404)
        if os.path.exists(other) and self.headers["Overwrite"] == "F": return self.reply(412)
        os.rename(own, other)
        self.reply(201)

      def do_DELETE(self):
        if not os.path.isfile(self.place(self.path)): return self.reply(404)
        os.remove(self.place(self.path))
        self.reply(204)

    server = Server(("127.0.0.1", 0), Cutting)
    print("listening on http://127.0.0.1:%d" % server.server_address[1], flush=True)
    server.serve_forever()
    """#
}
