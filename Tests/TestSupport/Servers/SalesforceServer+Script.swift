extension SalesforceServer {
  static let script = #"""
    import base64, hashlib, http.server, json, os, re, sys, threading, time, urllib.parse, uuid
    served, log, settings, optionsPath, modulus = sys.argv[1:6]
    options = json.load(open(optionsPath))
    client, user, audience = "3MVG9client", "robot@example.net", "https://login.example.net"
    secret, modulus = os.environ["CLIENT_SECRET"], int(modulus, 16)
    lock, tokens, refresh, calls = threading.Lock(), {}, {os.environ["REFRESH_TOKEN"]}, [0]
    FIELDS = {"Id", "ContentDocumentId", "Title", "PathOnClient", "FileExtension", "ContentSize", "Checksum", "VersionNumber", "IsLatest"}
    PAGE = b"<html><body><script>window.location='/login'</script>Please log in</body></html>"

    def full(id):
      alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"
      tail = ""
      for start in (0, 5, 10):
        tail += alphabet[sum(1 << n for n, c in enumerate(id[start:start + 5]) if c.isupper())]
      return id + tail

    def versions(): return json.load(open(settings))
    def same(one, other): return one[:15] == other[:15]
    def latest(document):
      found = [v for v in versions() if same(v["document"], document)]
      return max(found, key=lambda v: v["number"]) if found else None
    def unpad(text): return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

    def verified(assertion):
      "None, or what is wrong with a JWT (RFC 7515, RFC 8017 8.2.2)."
      try:
        head, claims, mark = assertion.split(".")
        header, body, mark = json.loads(unpad(head)), json.loads(unpad(claims)), unpad(mark)
      except ValueError: return "invalid assertion"
      if header.get("alg") != "RS256": return "invalid algorithm"
      digest = hashlib.sha256((head + "." + claims).encode()).digest()
      info = bytes.fromhex("3031300d060960864801650304020105000420") + digest
      block = pow(int.from_bytes(mark, "big"), 65537, modulus).to_bytes(256, "big")
      if len(mark) != 256 or block != b"\0\1" + b"\xff" * (253 - len(info)) + b"\0" + info: return "invalid assertion"
      if body.get("aud") != audience: return "audience is invalid"
      if body.get("iss") != client: return "invalid client credentials"
      if body.get("sub") != user: return "user hasn't approved this consumer"
      if not isinstance(body.get("exp"), int) or not time.time() < body["exp"] <= time.time() + 180: return "expired authorization code"

    class Handler(RangedHandler):
      def note(self, what, status, **more):
        with lock, open(log, "a") as file:
          file.write(json.dumps(dict(more, what=what, status=status, method=self.command, path=self.path.split("?")[0])) + "\n")

      def json(self, status, value, what, **more):
        self.note(what, status, **more)
        self.reply(status, json.dumps(value).encode(), {"Content-Type": "application/json;charset=UTF-8"})

      def error(self, status, code, message, what="refused", **more):
        self.json(status, [{"message": message, "errorCode": code}], what, code=code, **more)

      def do_POST(self):
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()))
        if self.path != "/services/oauth2/token": return self.error(404, "NOT_FOUND", "no such resource")
        if self.headers.get("Content-Type") != "application/x-www-form-urlencoded": return self.denied("unsupported content", form)
        grant = form.get("grant_type")
        if grant == "client_credentials":
          if form.get("client_id") != client or form.get("client_secret") != secret:
            return self.denied("invalid client credentials", form, "invalid_client")
        elif grant == "refresh_token":
          if form.get("client_id") != client: return self.denied("client identifier invalid", form, "invalid_client_id")
          if form.get("refresh_token") not in refresh: return self.denied("expired access/refresh token", form)
        elif grant == "urn:ietf:params:oauth:grant-type:jwt-bearer":
          wrong = verified(form.get("assertion", ""))
          if wrong: return self.denied(wrong, form)
        else: return self.denied("grant type not supported", form, "unsupported_grant_type")
        ttl = options.get("ttl", 3600)
        if "tokenDelay" in options: time.sleep(options["tokenDelay"])
        token = "00Dxx0000001gPL!" + uuid.uuid4().hex
        answer = {"access_token": token, "instance_url": here, "id": here + "/id/1", "token_type": "Bearer", "issued_at": str(int(time.time() * 1000)), "signature": "x"}
        if options.get("expires"): answer["expires_in"] = ttl
        with lock:
          tokens[token] = time.time() + ttl
          if grant == "refresh_token" and options.get("rotate"):
            refresh.discard(form["refresh_token"])
            answer["refresh_token"] = "rotated-" + uuid.uuid4().hex
            refresh.add(answer["refresh_token"])
          with open(log + ".tokens", "a") as file: file.write("\n".join([token, answer.get("refresh_token", token)]) + "\n")
        self.json(200, answer, "token", grant=grant)

      def denied(self, why, form, error="invalid_grant"):
        self.json(400, {"error": error, "error_description": why}, "token", grant=form.get("grant_type"), why=why)

      def do_HEAD(self):
        self.note("head", 405)
        self.reply(405, b"")

      def do_GET(self):
        path = urllib.parse.urlsplit(self.path)
        if path.path == "/login":
          self.note("page", 200)
          return self.reply(200, PAGE, {"Content-Type": "text/html;charset=UTF-8"})
        isBytes = not path.path.endswith("/query")
        bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if tokens.get(bearer, 0) < time.time():
          manner = options.get("expired", "401")
          if isBytes and manner == "login":
            self.note("page", 200)
            return self.reply(200, PAGE, {"Content-Type": "text/html;charset=UTF-8"})
          if isBytes and manner == "redirect":
            self.note("page", 302)
            return self.reply(302, b"", {"Location": "/login"})
          return self.error(403 if manner == "403" else 401, "INVALID_SESSION_ID", "Session expired or invalid", "expired")
        with lock:
          calls[0] += 1
          isOver = calls[0] > options.get("limit", 1 << 60)
        if isOver: return self.error(403, "REQUEST_LIMIT_EXCEEDED", "TotalRequests Limit exceeded.", "limit")
        route = re.fullmatch(r"/services/data/v62\.0/query", path.path)
        if route: return self.query(dict(urllib.parse.parse_qsl(path.query)).get("q", ""))
        route = re.fullmatch(r"/services/data/v62\.0/sobjects/ContentVersion/(068\w{12,15})/VersionData", path.path) \
          or re.fullmatch(r"/sfc/servlet\.shepherd/version/download/(068\w{12,15})", path.path)
        if route: return self.bytes(next((v for v in versions() if same(v["id"], route[1])), None))
        route = re.fullmatch(r"/services/data/v62\.0/connect/files/(069\w{12,15})/content", path.path)
        if route:
          number = dict(urllib.parse.parse_qsl(path.query)).get("versionNumber")
          return self.bytes(next((v for v in versions() if same(v["document"], route[1]) and str(v["number"]) == number), None) if number else latest(route[1]))
        self.error(404, "NOT_FOUND", "The requested resource does not exist")

      def query(self, text):
        found = re.fullmatch(r"SELECT ([\w, ]+) FROM ContentVersion WHERE (Id|ContentDocumentId) = '(\w+)'( AND IsLatest = true)?", text)
        if not found or not set(found[1].split(", ")) <= FIELDS: return self.error(400, "MALFORMED_QUERY", "unexpected token", "query")
        if found[2] == "Id": rows = [v for v in versions() if same(v["id"], found[3])]
        else: rows = [v for v in [latest(found[3])] if v]
        records = []
        for v in rows:
          data = open(os.path.join(served, v["file"]), "rb").read()
          records.append({
            "attributes": {"type": "ContentVersion"}, "Id": full(v["id"]), "ContentDocumentId": full(v["document"]), "Title": v["name"].rsplit(".", 1)[0],
            "PathOnClient": v["name"], "FileExtension": v["name"].rsplit(".", 1)[-1], "ContentSize": len(data), "VersionNumber": str(v["number"]),
            "Checksum": hashlib.md5(data).hexdigest() if v["checksum"] else None, "IsLatest": latest(v["document"])["id"] == v["id"]})
        self.json(200, {"totalSize": len(records), "done": True, "records": records}, "query", version=records[0]["Id"] if records else None)

      def bytes(self, version):
        if version is None: return self.error(404, "NOT_FOUND", "Provided external ID field does not exist or is not accessible")
        if options.get("page"):
          self.note("page", 200)
          return self.reply(200, PAGE, {"Content-Type": "text/javascript"})
        self.file(
          os.path.join(served, version["file"]), {"Content-Type": "application/octet-stream"}, "bytes",
          options.get("rate"), options.get("ranges", True), version=full(version["id"]))

    server = Server(("127.0.0.1", 0), Handler)
    here = "http://127.0.0.1:%d" % server.server_address[1]
    print("listening on " + here, flush=True)
    server.serve_forever()
    """#
}
