/// What the Python servers share; stands before a script of their own.
enum PythonParts {
  /// `Server`: a thread a connection, and silent.
  static let server = #"""
    import http.server, re, time

    class Server(http.server.ThreadingHTTPServer):
      daemon_threads = True
      request_queue_size = 64
      def handle_error(self, *arguments): pass


    """#

  /// `RangedHandler`: answers, and files in ranges, slowly where a rate in bytes a second is given. Its heirs `note`
  /// what was answered.
  static let rangedHandler = #"""
    class RangedHandler(http.server.BaseHTTPRequestHandler):
      protocol_version = "HTTP/1.1"
      def log_message(self, *arguments): pass

      def reply(self, status, body=b"", headers={}):
        self.send_response(status)
        for name, value in dict({"Content-Length": str(len(body))}, **headers).items(): self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD": self.wfile.write(body)

      def file(self, path, facts, what, rate=None, ranges=True, **more):
        size = os.path.getsize(path)
        facts, start, end, status = dict(facts), 0, size, 200
        wish = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if wish and ranges:
          start, end, status = int(wish[1]), min(size, int(wish[2]) + 1), 206
          if start >= size:
            self.note(what, 416)
            return self.reply(416, b"", {"Content-Range": "bytes */%d" % size})
          facts["Content-Range"] = "bytes %d-%d/%d" % (start, end - 1, size)
        self.send_response(status)
        for name, value in dict(facts, **{"Content-Length": str(end - start)}).items(): self.send_header(name, value)
        self.end_headers()
        sent = 0
        try:
          with open(path, "rb") as file:
            file.seek(start)
            while sent < end - start:
              block = file.read(min(1 << 16, end - start - sent))
              self.wfile.write(block)
              sent += len(block)
              if rate: time.sleep(len(block) / rate)
        finally: self.note(what, status, bytes=sent, offset=start, **more)


    """#
}
