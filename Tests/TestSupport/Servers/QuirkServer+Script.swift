extension QuirkServer {
  static let script = #"""
    import base64, collections, hashlib, http.server, json, os, socket, sys, threading, time, urllib.parse
    root, log, other = sys.argv[1:4]
    lock, counts = threading.Lock(), collections.Counter()

    class Handler(http.server.BaseHTTPRequestHandler):
      protocol_version = "HTTP/1.1"
      def log_message(self, *arguments): pass
      def do_GET(self): self.answer()
      def do_HEAD(self): self.answer()

      def do_PUT(self):
        self.count()
        if self.path.startswith("/early/"):
          self.reply(201, {"Connection": "close"}, b"")
          self.wfile.flush()
          self.connection.shutdown(socket.SHUT_WR)
          time.sleep(0.5)
          self.close_connection = True
          return
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.reply(403, {}, b"not here")

      def count(self):
        with lock:
          counts[self.command + self.path] += 1
          with open(log, "a") as file:
            headers = {k.lower(): v for k, v in self.headers.items()}
            file.write(json.dumps({"method": self.command, "path": self.path, "headers": headers}) + "\n")
          return counts[self.command + self.path]

      def reply(self, status, headers, body, promised=None):
        self.send_response(status)
        headers = dict(headers)
        headers.setdefault("Content-Length", str(len(body) if promised is None else promised))
        for name, value in headers.items():
          if value is not None: self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD": self.wfile.write(body)

      def hang_up(self):
        self.wfile.flush()
        self.close_connection = True

      def answer(self):
        number = self.count()
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        mode, name = path.lstrip("/").split("/", 1)
        if mode == "early": return self.reply(405, {}, b"")
        if mode == "endless":
          headers = {"Content-Length": None, "Transfer-Encoding": "chunked", "Location": "/plain/b.bin"}
          self.reply(int(name.split("/", 1)[0]), headers, b"")
          while self.command != "HEAD": self.wfile.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
          return
        if mode == "status":
          status, name = name.split("/", 1)
          return self.reply(int(status), {}, b"no")
        try: data = open(os.path.join(root, name), "rb").read()
        except OSError: return self.reply(404, {}, b"no such file")
        facts = {"ETag": '"%x"' % len(data), "Last-Modified": "Mon, 02 Jan 2023 03:04:05 GMT"}
        if mode == "replaced" and self.command == "GET" and number >= 3:
          data = open(os.path.join(root, name + ".new"), "rb").read()
          facts["ETag"] = '"new"'
          if self.headers.get("If-Range", '"new"') != '"new"': return self.reply(200, facts, data)
        if mode == "swapped" and self.command == "GET" and number >= 3:
          data, facts["ETag"] = data[::-1], '"swapped"'
        if mode == "grown" and self.command == "GET" and number >= 3: data += b"x" * 1000
        if mode == "decoded" and self.command == "GET" and number >= 2:
          facts.update({"Content-Length": None, "Transfer-Encoding": "chunked"})
          self.reply(200, facts, b"")
          return self.wfile.write(b"%x\r\n" % (len(data) // 2) + data[:len(data) // 2] + b"\r\n0\r\n\r\n")
        if mode == "coded": facts["Content-Encoding"] = "gzip"
        if mode == "redirect": return self.reply(302, {"Location": "/plain/" + urllib.parse.quote(name)}, b"")
        if mode == "elsewhere":
          return self.reply(307, {"Location": other + "/plain/" + urllib.parse.quote(name)}, b"")
        if mode == "loop": return self.reply(301, {"Location": self.path}, b"")
        if mode == "nohead" and self.command == "HEAD": return self.reply(405, {}, b"")
        if mode == "busy" and self.command == "GET" and number == 1:
          return self.reply(429, {"Retry-After": "1"}, b"later")
        if mode == "close":
          self.reply(200, {"Content-Length": None, "Connection": "close"}, data)
          return self.hang_up()
        if mode == "chunked":
          self.reply(200, {"Content-Length": None, "Transfer-Encoding": "chunked"}, b"")
          if self.command == "HEAD": return
          for start in range(0, len(data), 50000):
            piece = data[start:start + 50000]
            self.wfile.write(b"%x\r\n" % len(piece) + piece + b"\r\n")
          return self.wfile.write(b"0\r\n\r\n")
        if mode == "disposition": facts["Content-Disposition"] = 'attachment; filename="../told by: server.bin"'
        start, end = self.wanted(len(data))
        if mode == "norange" or start is None: start, end, status = 0, len(data), 200
        elif start >= len(data): return self.reply(416, {"Content-Range": "bytes */%d" % len(data)}, b"")
        else:
          status = 206
          shift = 1 if mode == "wrongrange" else 0
          facts["Content-Range"] = "bytes %d-%d/%d" % (start + shift, end - 1 + shift, len(data))
        if mode == "half" and status == 206 and end - start > 1000:
          end = start + (end - start) // 2
          facts["Content-Range"] = "bytes %d-%d/%d" % (start, end - 1, len(data))
        if mode == "longer" and status == 206 and end < len(data):
          end = min(len(data), end + 1000)
          facts["Content-Range"] = "bytes %d-%d/%d" % (start, end - 1, len(data))
        if mode == "misrange" and status == 206:
          facts["Content-Range"] = "bytes %d-%d/%d" % (start, start + (end - start) // 2 - 1, len(data))
        if mode == "multipart" and status == 206:
          head = b"--X\r\nContent-Range: " + facts.pop("Content-Range").encode() + b"\r\n\r\n"
          facts["Content-Type"] = "multipart/byteranges; boundary=X"
          return self.reply(206, facts, head + data[start:end] + b"\r\n--X--\r\n")
        if mode != "norange": facts["Accept-Ranges"] = "bytes"
        body, promised = data[start:end], end - start
        if mode == "digested":
          digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
          facts["Content-Digest"] = "sha-256=:%s:" % digest
          if number == 3: body = body[:5] + bytes([body[5] ^ 1]) + body[6:]
        if mode == "short" or (mode == "flaky" and number % 2 == 1 and len(body) > 1):
          body = body[:len(body) // 2]
          self.reply(status, facts, body, promised)
          return self.hang_up()
        self.reply(status, facts, body)

      def wanted(self, size):
        field = self.headers.get("Range", "")
        if not field.startswith("bytes="): return None, None
        first, _, last = field[6:].partition("-")
        return int(first), min(size, int(last) + 1 if last else size)

    server = Server(("127.0.0.1", 0), Handler)
    print("listening on http://127.0.0.1:%d" % server.server_address[1], flush=True)
    server.serve_forever()
    """#
}
