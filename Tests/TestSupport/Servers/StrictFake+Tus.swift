extension StrictFake {
  /// tus 1.0.0 (protocol text of 2025-06-26): core, creation, checksum, expiration, termination. Uploads are made at
  /// `/files` and lie in the root as `ID` and `ID.json`.
  ///
  /// Options: `extensions`, `checksums`, `max_size`, `relative` (Location), `elsewhere` (Location's origin),
  /// `expires` (seconds), `no_options`; faults by PATCH: `cut` (bytes kept, then the connection breaks), `corrupt`,
  /// `forget` (404), `expire` (410), `move` (another client wrote a byte).
  static let tus = #"""
    extensions = options.get("extensions", ["creation", "checksum", "expiration", "termination"])
    checksums = options.get("checksums", ["sha1"])
    busy, deleted = set(), set()

    class Handler(Base):
      def act(self):
        if self.command == "OPTIONS": return self.options()
        if self.command != "GET" and self.headers.get("Tus-Resumable") != "1.0.0":
          raise Refused(412, headers={"Tus-Version": "1.0.0"})
        if self.place == "/files" and self.command == "POST": return self.create()
        name = self.place.removeprefix("/files/")
        self.file, self.facts = os.path.join(root, name), os.path.join(root, name + ".json")
        if name in deleted: raise Refused(410)
        if not re.fullmatch("[0-9a-f]{16}", name) or not os.path.exists(self.facts): raise Refused(404)
        self.upload = json.load(open(self.facts))
        if self.upload["expires"] is not None and time.time() > self.upload["expires"]: raise Refused(410)
        if self.command == "HEAD": return self.tell()
        if self.command == "PATCH": return self.patch(name)
        if self.command == "DELETE":
          if "termination" not in extensions: raise Refused(405)
          os.remove(self.facts)
          deleted.add(name)
          return self.answer(204)
        if self.command == "GET": return self.get()
        raise Refused(405)

      def answer(self, status, headers={}):
        headers = {"Tus-Resumable": "1.0.0", **headers}
        if self.command in ("PATCH", "POST") and self.upload["expires"] is not None:
          headers["Upload-Expires"] = email.utils.formatdate(self.upload["expires"], usegmt=True)
        self.reply(status, headers)

      def options(self):
        if options.get("no_options"): raise Refused(405)
        headers = {"Tus-Resumable": "1.0.0", "Tus-Version": "1.0.0,0.2.2", "Tus-Extension": ",".join(extensions)}
        if "max_size" in options: headers["Tus-Max-Size"] = str(options["max_size"])
        if "checksum" in extensions: headers["Tus-Checksum-Algorithm"] = ",".join(checksums)
        self.reply(204, headers)

      def create(self):
        number = self.nth("create")
        if self.left: raise Refused(400, b"creation-with-upload is not offered")
        if not re.fullmatch(r"\d+", self.headers.get("Upload-Length", "")): raise Refused(400, b"Upload-Length")
        size = int(self.headers["Upload-Length"])
        if size > options.get("max_size", size): raise Refused(413)
        metadata = {}
        for pair in self.headers.get("Upload-Metadata", "").split(","):
          match = re.fullmatch(r"([!-+\--~]+)(?: ([A-Za-z0-9+/]+={0,2}))?", pair)
          if not match or match[1] in metadata: raise Refused(400, b"Upload-Metadata")
          metadata[match[1]] = base64.b64decode(match[2] or "", validate=True).decode()
        name = os.urandom(8).hex()
        lives = options.get("expires")
        self.upload = {"size": size, "offset": 0, "metadata": metadata,
                       "expires": time.time() + lives if lives is not None else None}
        open(os.path.join(root, name), "wb").close()
        save(os.path.join(root, name + ".json"), json.dumps(self.upload).encode())
        self.loses("create", number)
        place = "/files/" + name
        if not options.get("relative"):
          place = (options.get("elsewhere") or "http://" + self.headers["Host"]) + place
        self.answer(201, {"Location": place})

      def tell(self):
        self.nth("head")
        metadata = ",".join(k + (" " + base64.b64encode(v.encode()).decode() if v else "")
                            for k, v in self.upload["metadata"].items())
        headers = {"Upload-Offset": str(self.upload["offset"]), "Upload-Length": str(self.upload["size"]),
                   "Upload-Metadata": metadata, "Cache-Control": "no-store"}
        if self.upload["offset"] == self.upload["size"]: headers["ETag"] = self.tag()
        self.answer(200, headers)

      def tag(self): return '"%s"' % os.path.basename(self.file)

      def patch(self, name):
        number = self.nth("patch")
        if number in options.get("forget", []):
          os.remove(self.facts)
          raise Refused(404)
        if number in options.get("expire", []):
          self.keep(expires=0)
          raise Refused(410)
        if number in options.get("move", []): self.append([b"?"])
        if self.headers.get("Content-Type") != "application/offset+octet-stream": raise Refused(415)
        if "Content-Length" not in self.headers: raise Refused(411)
        offset = self.upload["offset"]
        if self.headers.get("Upload-Offset") != str(offset): raise Refused(409)
        if offset + self.left > self.upload["size"]: raise Refused(413, b"behind Upload-Length")
        check = None
        if "Upload-Checksum" in self.headers:
          if "checksum" not in extensions: raise Refused(400, b"Upload-Checksum")
          match = re.fullmatch(r"(\w+) ([A-Za-z0-9+/]+={0,2})", self.headers["Upload-Checksum"])
          if not match or match[1] not in checksums: raise Refused(400, b"unknown algorithm")
          check = hashlib.new(match[1]), base64.b64decode(match[2])
        with lock:
          if name in busy: raise Refused(423)
          busy.add(name)
        try:
          if check:
            data = bytearray(self.body())
            if number in options.get("corrupt", []): data[0] ^= 1
            check[0].update(data)
            if check[0].digest() != check[1]: raise Refused(460)
            self.append([data])
          else:
            limit = options.get("cut", {}).get(str(number))
            self.append(self.blocks(limit))
            if limit is not None: raise Cut()
        finally: busy.discard(name)
        self.loses("patch", number)
        self.answer(204, {"Upload-Offset": str(self.upload["offset"])})

      def append(self, blocks):
        """What came before a break is kept."""
        try:
          with open(self.file, "r+b") as file:
            file.seek(self.upload["offset"])
            for block in blocks:
              file.write(block)
              self.taken += len(block)
        finally:
          lives = options.get("expires")
          self.keep(offset=self.upload["offset"] + self.taken,
                    expires=time.time() + lives if lives is not None else None)

      def keep(self, **facts):
        self.upload.update(facts)
        save(self.facts, json.dumps(self.upload).encode())

      def get(self):
        size = self.upload["size"]
        if self.upload["offset"] != size: raise Refused(404)
        headers = {"ETag": self.tag(), "Content-Type": "application/octet-stream"}
        wanted = self.wanted(size)
        if size == 0: return self.reply(200, headers)
        if wanted is None: raise Refused(416, headers={"Content-Range": "bytes */%d" % size})
        start, end, status = wanted
        if self.headers.get("If-Range", headers["ETag"]) != headers["ETag"]: start, end, status = 0, size, 200
        if status == 206: headers["Content-Range"] = "bytes %d-%d/%d" % (start, end - 1, size)
        self.stream(status, headers, self.file, start, end)
    """#
}
