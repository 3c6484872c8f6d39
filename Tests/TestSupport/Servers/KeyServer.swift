import Foundation

/// A store without keys to it, as S3 lists and gives objects: whatever its keys are. An object's bytes are its key.
package final class KeyServer: Sendable {
  package let url: String
  private let process: Running

  /// - Parameter keys: as text, NUL bytes and all.
  package init(_ bench: Bench, keys: [String]) async throws {
    let stem = bench.scratch.path + "/keys-\(UUID().uuidString.prefix(6))"
    try Data(Self.script.utf8).write(to: URL(fileURLWithPath: stem + ".py"))
    let list = keys.map { Data($0.utf8).base64EncodedString() }.joined(separator: "\n")
    try Data(list.utf8).write(to: URL(fileURLWithPath: stem + ".txt"))
    process = try bench.serve(Programs.python, ["-u", stem + ".py", stem + ".txt"])
    url = "http://127.0.0.1:" + (try await Loopback.announced(process, after: "port "))
  }

  package var endpoint: String {
    "{ type: s3, url: \(quoted(url)), bucket: bkt, addressing: path, auth: none }"
  }

  private static let script = #"""
    import base64, hashlib, http.server, sys, urllib.parse as up
    keys = sorted(base64.b64decode(line) for line in open(sys.argv[1]).read().split("\n"))

    class Handler(http.server.BaseHTTPRequestHandler):
      protocol_version = "HTTP/1.1"
      def log_message(self, *arguments): pass

      def do_GET(self):
        path, _, query = self.path.partition("?")
        key = up.unquote_to_bytes(path.lstrip("/").partition("/")[2]) if path.count("/") > 1 else b""
        if "list-type=2" in query:
          prefix = up.unquote_to_bytes(dict(p.partition("=")[::2] for p in query.split("&")).get("prefix", ""))
          out = "".join("<Contents><Key>%s</Key><ETag>&quot;%s&quot;</ETag><Size>%d</Size></Contents>" % (
            up.quote(k, safe="/"), hashlib.md5(k).hexdigest(), len(k)) for k in keys if k.startswith(prefix))
          return self.answer(200, ("<ListBucketResult><IsTruncated>false</IsTruncated><EncodingType>url</EncodingType>"
            + out + "</ListBucketResult>").encode(), {"Content-Type": "application/xml"})
        if key not in keys: return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>", {})
        self.answer(200, key, {"ETag": '"%s"' % hashlib.md5(key).hexdigest()})
      do_HEAD = do_GET

      def answer(self, status, body, headers):
        self.send_response(status)
        for name, value in headers.items(): self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD": self.wfile.write(body)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print("port", server.server_address[1], flush=True)
    server.serve_forever()
    """#
}
