extension PresignedServer {
  static let script = #"""
    import hashlib, hmac, http.server, json, os, re, sys, threading, time, urllib.parse, uuid
    objects, log, optionsPath, served = sys.argv[1:5]
    options = json.load(open(optionsPath))
    tokens, secret = os.environ["API_TOKEN"].split(), os.urandom(16)
    asked = [0]
    partSize, ttl, rate = options.get("partSize", 65536), options.get("ttl", 60), options.get("rate")
    damage, left = set(options.get("damage", [])), {"lose": options.get("lose", 0), "forget": options.get("forget"), "part": options.get("losePart", 0)}
    lock, uploads = threading.Lock(), {}
    spool = objects + "-spool"
    os.makedirs(spool)

    def sign(method, path, fields):
      text = "\n".join([method, path] + ["%s=%s" % pair for pair in sorted(fields.items())])
      return hmac.new(secret, text.encode(), "sha256").hexdigest()

    def signed(method, path, **fields):
      fields["X-Expires"] = "%.3f" % (time.time() + ttl)
      fields["X-Amz-Signature"] = sign(method, path, fields)
      return store + urllib.parse.quote(path) + "?" + urllib.parse.urlencode(fields)

    class Handler(RangedHandler):
      def note(self, what, status, **more):
        headers = {k.lower(): v for k, v in self.headers.items()}
        with lock, open(log, "a") as file:
          file.write(json.dumps(dict(more, what=what, status=status, method=self.command, path=self.path.split("?")[0], headers=headers)) + "\n")

      def body(self):
        size = self.headers.get("Content-Length")
        if size is None: return None
        return self.rfile.read(int(size))

    class BackEnd(Handler):
      def isKnown(self):
        "Another token counts from some request on."
        with lock: asked[0] += 1
        wanted = tokens[-1] if asked[0] > options.get("tokenEnds", 1 << 60) else tokens[0]
        return self.headers.get("Authorization") == "Bearer " + wanted

      def json(self, status, value, what, **more):
        self.note(what, status, **more)
        self.reply(status, json.dumps(value).encode(), {"Content-Type": "application/json"})

      def refuse(self, status, why, what): self.json(status, {"error": why, "message": why}, what)

      def do_POST(self):
        raw = self.body()
        path = self.path
        if not self.isKnown(): return self.refuse(401, "no token", "unauthorized")
        try: message = json.loads(raw)
        except ValueError: return self.refuse(400, "no JSON", "bad")
        if self.headers.get("Content-Type") != "application/json": return self.refuse(415, "no JSON", "bad")
        if path == "/api/startUpload": return self.start(message)
        if path == "/api/getUploadUrls": return self.urls(message)
        if path.startswith("/api/complete/"): return self.complete(path[len("/api/complete/"):], message)
        self.refuse(404, "no such route", "bad")

      def start(self, message):
        name, mark, size = message.get("fileName"), message.get("fileHash"), message.get("fileSize")
        if not isinstance(name, str) or not name: return self.refuse(400, "fileName", "start")
        if not isinstance(mark, str) or not re.fullmatch("[0-9a-f]{32}", mark): return self.refuse(400, "fileHash", "start")
        if isinstance(size, str) and re.fullmatch("[0-9]+", size): size = int(size)
        if not isinstance(size, int) or isinstance(size, bool): return self.refuse(400, "fileSize", "start")
        if not all(isinstance(value, (str, int)) for value in message.values()): return self.refuse(400, "not flat", "start")
        id, key = uuid.uuid4().hex, "up/%s/%s" % (mark[:8], name)
        with lock: uploads[id] = {"key": key, "size": size, "parts": {}}
        self.json(200, {"key": key, "uploadId": id, "partSize": partSize}, "start", message=message)

      def urls(self, message):
        upload = uploads.get(message.get("uploadId"))
        parts = message.get("parts")
        if upload is None or upload["key"] != message.get("key"): return self.refuse(404, "NoSuchUpload", "urls")
        if not isinstance(parts, list) or not parts or not all(isinstance(n, int) and 1 <= n <= 10000 for n in parts):
          return self.refuse(400, "parts", "urls")
        urls = {str(n): signed("PUT", "/" + upload["key"], partNumber=str(n), uploadId=message["uploadId"]) for n in parts}
        self.json(200, {"urls": dict(urls, note="not a part")}, "urls", parts=parts)

      def complete(self, rest, message):
        id, _, key = rest.partition("/")
        upload = uploads.get(id)
        if upload is None or upload["key"] != urllib.parse.unquote(key): return self.refuse(404, "NoSuchUpload", "complete")
        status = options.get("completeStatus")
        if status: return self.refuse(status, "out of order", "complete")
        parts = message.get("parts")
        if not isinstance(parts, list) or not parts: return self.refuse(400, "parts", "complete")
        numbers = [part.get("PartNumber") for part in parts]
        if numbers != sorted(set(numbers)): return self.refuse(400, "InvalidPartOrder", "complete")
        if left["part"] > 0:
          left["part"] -= 1
          return self.refuse(400, "InvalidPart", "complete")
        target = os.path.join(objects, upload["key"])
        os.makedirs(os.path.dirname(target), exist_ok=True)
        total = 0
        with open(target + ".tmp", "wb") as whole:
          for part in parts:
            held = upload["parts"].get(part["PartNumber"])
            if held is None or held["etag"] != part.get("ETag"): return self.refuse(400, "InvalidPart", "complete")
            if part is not parts[-1] and held["size"] != partSize: return self.refuse(400, "EntityTooSmall", "complete")
            total += held["size"]
            with open(held["path"], "rb") as piece:
              while block := piece.read(1 << 20): whole.write(block)
        if total != upload["size"]: return self.refuse(400, "size", "complete")
        os.rename(target + ".tmp", target)
        with lock: del uploads[id]
        if left["lose"] > 0:
          left["lose"] -= 1
          self.note("complete", 0)
          self.close_connection = True
          return self.connection.shutdown(2)
        self.json(200, {"done": True}, "complete", parts=parts)

      def do_GET(self):
        if not self.isKnown(): return self.refuse(401, "no token", "unauthorized")
        path = urllib.parse.unquote(self.path)
        if not path.startswith("/api/files/") or not os.path.exists(os.path.join(served, path[11:])):
          return self.refuse(404, "no such file", "redirect")
        self.note("redirect", 302)
        self.reply(302, b"", {"Location": signed("GET", "/" + path[11:])})

      def do_HEAD(self): self.refuse(405, "GET only", "bad")

    class Store(Handler):
      def xml(self, status, code, what, **more):
        self.note(what, status, code=code, **more)
        text = "<?xml version='1.0'?><Error><Code>%s</Code><Message>%s</Message></Error>" % (code, self.path.replace("&", "&amp;"))
        self.reply(status, text.encode(), {"Content-Type": "application/xml"})

      def fields(self, what):
        "The signed fields of a good URL; None where the request was refused."
        parts = urllib.parse.urlsplit(self.path)
        fields = dict(urllib.parse.parse_qsl(parts.query))
        mark = fields.pop("X-Amz-Signature", "")
        if "Authorization" in self.headers: self.xml(400, "InvalidArgument", what)
        elif not hmac.compare_digest(mark, sign(self.command, urllib.parse.unquote(parts.path), fields)):
          self.xml(403, "SignatureDoesNotMatch", what)
        elif float(fields["X-Expires"]) < time.time(): self.xml(403, "AccessDenied", what, expired=True)
        else: return fields

      def drain(self):
        left = int(self.headers.get("Content-Length", 0))
        while left > 0:
          block = self.rfile.read(min(left, 1 << 16))
          if not block: return
          left -= len(block)

      def do_PUT(self):
        fields = self.fields_of_part()
        if fields is None: return
        number, id = int(fields["partNumber"]), fields["uploadId"]
        path = os.path.join(spool, "%s-%d-%s" % (id, number, uuid.uuid4().hex))
        size, got, digest = int(self.headers["Content-Length"]), 0, hashlib.md5()
        harm = number in damage
        with open(path, "wb") as file:
          while got < size:
            block = self.rfile.read(min(1 << 16, size - got))
            if not block:
              self.note("part", 0, part=number, bytes=got)
              self.close_connection = True
              return
            if harm and got == 0: block = bytes([block[0] ^ 1]) + block[1:]
            got += len(block)
            digest.update(block)
            file.write(block)
            if rate: time.sleep(len(block) / rate)
        etag = digest.hexdigest()
        if options.get("etag") == "opaque": etag = hashlib.sha1(etag.encode()).hexdigest()[:32]
        with lock:
          damage.discard(number)
          upload = uploads.get(id)
          if upload is not None: upload["parts"][number] = {"etag": etag, "size": size, "path": path}
          if left["forget"] is not None and upload is not None and len(upload["parts"]) >= left["forget"]:
            left["forget"] = None
            del uploads[id]
        if upload is None: return self.xml(404, "NoSuchUpload", "part", part=number, bytes=got)
        self.note("part", 200, part=number, bytes=got)
        self.reply(200, b"", {"ETag": '"%s"' % etag})

      def fields_of_part(self):
        parts = urllib.parse.urlsplit(self.path)
        fields = dict(urllib.parse.parse_qsl(parts.query))
        number = int(fields.get("partNumber", 0))
        if self.headers.get("Content-Length") is None: return self.xml(411, "MissingContentLength", "part", part=number)
        mark = fields.pop("X-Amz-Signature", "")
        upload = uploads.get(fields.get("uploadId"))
        refusal = None
        if "Authorization" in self.headers: refusal = (400, "InvalidArgument")
        elif not hmac.compare_digest(mark, sign("PUT", urllib.parse.unquote(parts.path), fields)): refusal = (403, "SignatureDoesNotMatch")
        elif float(fields["X-Expires"]) < time.time(): refusal = (403, "AccessDenied")
        elif upload is None or "/" + upload["key"] != urllib.parse.unquote(parts.path): refusal = (404, "NoSuchUpload")
        if refusal:
          self.drain()
          return self.xml(*refusal, "part", part=number, bytes=0)
        return fields

      def do_HEAD(self): self.xml(403, "SignatureDoesNotMatch", "get")

      def do_GET(self):
        if self.fields("get") is None: return
        path = os.path.join(served, urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)[1:])
        tag = '"%x-%x"' % (os.stat(path).st_mtime_ns, os.path.getsize(path))
        stands = self.headers.get("If-Range", tag) == tag
        self.file(path, {"ETag": tag, "Accept-Ranges": "bytes"}, "get", rate, stands)

    behind = Server(("127.0.0.1", 0), Store)
    store = "http://127.0.0.1:%d" % behind.server_address[1]
    threading.Thread(target=behind.serve_forever, daemon=True).start()
    front = Server(("127.0.0.1", 0), BackEnd)
    print("listening on http://127.0.0.1:%d" % front.server_address[1], flush=True)
    front.serve_forever()
    """#
}
