extension StrictFake {
  /// Kii Cloud's object bodies (wire facts A): application `app`, bucket `box`; bodies lie in the root by object id.
  ///
  /// Options: `objects` (ids that exist), `scope` (the path behind the application's), `app_key_file`, `content_range`
  /// (false leaves it out of 206); faults: `end_at` (the numbers of data requests that find the upload gone), `refuse_commit`
  /// (numbers of commits that are answered with UPLOAD_NOT_FOUND and not made), `replace_at` (numbers of GETs before which
  /// another client's upload completes), `break_get` (numbers of GETs that break half-way), `replace_after` (bytes of the first GET after which one does).
  static let kii = #"""
    scope = options.get("scope", "")
    prefix = "/api/apps/app" + scope + "/buckets/box/objects/"
    uploads = os.path.join(root, ".uploads")
    os.makedirs(uploads, exist_ok=True)
    tags = collections.Counter()

    def refused(status, code, **more):
      return Refused(status, json.dumps({"errorCode": code, "message": "refused", **more}).encode(),
                     {"Content-Type": "application/vnd.kii.%sException+json" % code.title().replace("_", "")})

    class Handler(Base):
      def authorise(self):
        try: super().authorise()
        except Refused: raise refused(401, "WRONG_TOKEN")
        if "app_key_file" in options:
          key = open(options["app_key_file"]).read().strip()
          if self.headers.get("X-Kii-AppID") != "app" or self.headers.get("X-Kii-AppKey") != key:
            raise refused(401, "UNAUTHORIZED")

      def act(self):
        if not self.place.startswith("/api/apps/app" + scope + "/buckets/"): raise refused(404, "APP_NOT_FOUND")
        if not self.place.startswith(prefix): raise refused(404, "BUCKET_NOT_FOUND")
        parts = [urllib.parse.unquote(part) for part in self.place.removeprefix(prefix).split("/")]
        if parts[0] not in options.get("objects", ["one"]): raise refused(404, "OBJECT_NOT_FOUND", objectID=parts[0])
        if len(parts) < 2 or parts[1] != "body": raise refused(404, "PATH_NOT_FOUND")
        self.object, self.file = parts[0], os.path.join(root, parts[0])
        what = (self.command, *parts[2:3], *parts[4:])
        if what == ("POST", "uploads"): return self.begin()
        if what == ("GET",): return self.get()
        if what == ("HEAD",): return self.head()
        if len(parts) < 5 or parts[2] != "uploads": raise refused(405, "METHOD_NOT_ALLOWED")
        self.id = parts[3]
        self.facts = os.path.join(uploads, os.path.basename(self.id))
        if not os.path.exists(self.facts): raise refused(404, "OBJECT_BODY_UPLOAD_NOT_FOUND")
        self.upload = json.load(open(self.facts))
        if what == ("PUT", "uploads", "data"): return self.data()
        if what == ("POST", "uploads", "status", "committed"): return self.commit()
        if what == ("POST", "uploads", "status", "cancelled"):
          os.remove(self.facts)
          return self.reply(204)
        raise refused(405, "METHOD_NOT_ALLOWED")

      def begin(self):
        number = self.nth("start")
        kind = "application/vnd.kii.startobjectbodyupload%s+json"
        if self.headers.get("Content-Type", "").lower() != kind % "request": raise refused(415, "UNSUPPORTED")
        if self.headers.get("Accept", "*/*").lower() not in (kind % "response", "*/*"): raise refused(406, "ACCEPT")
        body = json.loads(self.body())
        if set(body) - {"clientHash"} or not isinstance(body.get("clientHash", ""), str):
          raise refused(400, "INVALID_INPUT_DATA")
        self.id = os.urandom(16).hex()
        self.facts = os.path.join(uploads, self.id)
        self.upload = {"held": 0, "last": 0, "total": None, "type": None, **body}
        open(self.facts + ".data", "wb").close()
        self.keep()
        self.loses("start", number)
        self.reply(200, {"Content-Type": "application/vnd.kii.StartObjectBodyUploadResponse+json"},
                   json.dumps({"uploadID": self.id}).encode())

      def keep(self): save(self.facts, json.dumps(self.upload).encode())

      def data(self):
        number = self.nth("data")
        if number in options.get("end_at", []):
          os.remove(self.facts)
          raise refused(416, "OBJECT_BODY_RANGE_NOT_SATISFIABLE")
        match = re.fullmatch(r"bytes=(\d+)-(\d+)/(\d+)", self.headers.get("Content-Range", ""))
        if not match: raise refused(400, "INVALID_INPUT_DATA", field="Content-Range")
        first, last, total = (int(text) for text in match.groups())
        if not self.headers.get("Content-Type"): raise refused(400, "INVALID_INPUT_DATA", field="Content-Type")
        if total == 0 or last >= total or last - first + 1 != self.left: raise refused(400, "INVALID_INPUT_DATA")
        known = self.upload
        if known["total"] not in (None, total) or known["type"] not in (None, self.headers["Content-Type"]):
          raise refused(412, "OBJECT_BODY_INTEGRITY_NOT_ASSURED")
        # In ascending order; the last range may come again, its answer being lost.
        if first not in (known["held"], known["last"]): raise refused(416, "OBJECT_BODY_RANGE_NOT_SATISFIABLE")
        data = self.body()
        with open(self.facts + ".data", "r+b") as file:
          file.seek(first)
          file.write(data)
        self.taken = len(data)
        known.update(held=last + 1, last=first, total=total, type=self.headers["Content-Type"])
        self.keep()
        self.loses("data", number)
        self.reply(204)

      def commit(self):
        number = self.nth("commit")
        if self.left: raise refused(400, "INVALID_INPUT_DATA")
        if self.upload["total"] is None or self.upload["held"] != self.upload["total"]:
          raise refused(416, "OBJECT_BODY_RANGE_NOT_SATISFIABLE")
        os.remove(self.facts)
        if number in options.get("refuse_commit", []): raise refused(404, "OBJECT_BODY_UPLOAD_NOT_FOUND")
        with lock:
          os.replace(self.facts + ".data", self.file)
          save(os.path.join(uploads, "type-" + self.object), self.upload["type"].encode())
          tags[self.object] += 1
        self.loses("commit", number)
        self.reply(204)

      def state(self):
        if not os.path.exists(self.file): raise refused(404, "OBJECT_BODY_NOT_FOUND")
        status = os.stat(self.file)
        kind = os.path.join(uploads, "type-" + self.object)
        return status.st_size, {"ETag": '"%d-%d-%d"' % (status.st_ino, status.st_mtime_ns, tags[self.object]),
          "Last-Modified": email.utils.formatdate(status.st_mtime, usegmt=True),
          "Content-Type": open(kind).read() if os.path.exists(kind) else "application/octet-stream"}

      def head(self): self.reply(204, self.state()[1])

      def replace(self):
        with lock:
          data = open(self.file, "rb").read()
          save(self.file, data[::-1])
          tags[self.object] += 1

      def get(self):
        number = self.nth("get")
        if number in options.get("replace_at", []): self.replace()
        size, headers = self.state()
        if self.headers.get("If-Match", headers["ETag"]) != headers["ETag"]:
          raise refused(412, "PRECONDITION_FAILED")
        del headers["Last-Modified"]
        wanted = self.wanted(size)
        if wanted is None: raise refused(416, "OBJECT_BODY_RANGE_NOT_SATISFIABLE")
        start, end, status = wanted
        if status == 206 and options.get("content_range", True):
          headers["Content-Range"] = "bytes %d-%d/%d" % (start, end - 1, size)
        def gone():
          if number in options.get("break_get", []) and self.taken * 2 >= end - start: return True
          if number == 1 and self.taken >= options.get("replace_after", size + 1): self.replace()
          return self.state()[1]["ETag"] != headers["ETag"]
        self.stream(status, headers, self.file, start, end, gone)
    """#
}
