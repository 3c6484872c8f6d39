extension ReceivingServer {
  static let hooks = #"""
    import itertools, json, os, sys, threading, time
    lock = threading.Lock()
    moods = itertools.cycle(["500", "200", "hang", "200", "close", "200", "200"])

    class Handler(http.server.BaseHTTPRequestHandler):
      protocol_version = "HTTP/1.1"
      def log_message(self, *arguments): pass

      def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        isDown = os.path.exists(sys.argv[1] + ".status")
        headers = {name.lower(): value for name, value in self.headers.items()}
        word = self.path.split("?")[0].split("/")[1]
        with lock:
          if word == "moody": word = next(moods)
          status = 503 if isDown else int(word) if word.isdigit() else 302 if word == "redirect" else 200
          told = 0 if word in ("hang", "heads", "close") else status
          line = json.dumps({"method": self.command, "path": self.path, "headers": headers, "body": body.decode(), "status": told})
          if not isDown:
            with open(sys.argv[1], "a") as log: log.write(line + "\n")
        if word == "hang": time.sleep(600)
        if word == "heads":
          while True:
            self.connection.sendall(b"HTTP/1.1 102 Processing\r\n\r\n")
            time.sleep(0.2)
        if word == "slow": time.sleep(0.1)
        if word == "close":
          self.close_connection = True
          return self.connection.shutdown(2)
        self.send_response(status)
        if word == "redirect": self.send_header("Location", "/landed")
        self.send_header("Content-Length", "1000" if word == "trickle" else "2")
        self.end_headers()
        while word == "trickle":
          self.wfile.write(b"x")
          time.sleep(0.2)
        self.wfile.write(b"ok")

      do_GET = do_POST = answer

    server = Server(("127.0.0.1", 0), Handler)
    print("listening on http://127.0.0.1:%d" % server.server_address[1], flush=True)
    server.serve_forever()
    """#

  static let records = #"""
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
