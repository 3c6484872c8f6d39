extension StrictS3 {
  /// Written from AWS's API reference, not from the client under test: what AWS refuses is refused here.
  static let script = #"""
    import base64, calendar, hashlib, hmac, json, os, sys, threading, time, urllib.parse as up
    from email.utils import formatdate
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from awscrt import checksums

    config_path, log_path = sys.argv[1:3]
    lock, objects, uploads = threading.RLock(), {}, {}
    log_lock, counts, flying = threading.Lock(), {}, [0]
    ALGORITHMS = {"CRC64NVME": lambda b: checksums.crc64nvme(b).to_bytes(8, "big"),
                  "SHA256": lambda b: hashlib.sha256(b).digest()}

    def config():
        with open(config_path) as f:
            return json.load(f)

    class Refusal(Exception):
        def __init__(self, status, code, message="", **more):
            self.status, self.code, self.message, self.more = status, code, message, more

    def b64(data): return base64.b64encode(data).decode()
    def xml(text): return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        def log_message(self, *_): pass
        def date_time_string(self, timestamp=None): return formatdate(self.now(), usegmt=True)
        def now(self): return time.time() + self.config.get("skew", 0)
        def handle_one_request(self):
            self.config = config()
            super().handle_one_request()

        def run(self):
            with log_lock:
                flying[0] += 1
                self.flight = flying[0]
            self.begun, self.sent = time.time(), 0
            try: self.act()
            finally:
                with log_lock: flying[0] -= 1
        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = run

        def act(self):
            self.config = config()
            self.path_part, _, self.query_part = self.path.partition("?")
            self.query = dict(up.parse_qsl(self.query_part, keep_blank_values=True))
            self.op = self.operation()
            fault = self.fault()
            self.fault_now = fault
            length = int(self.headers.get("Content-Length") or 0)
            self.body = self.receive(length)
            if len(self.body) < length:
                self.note(0); self.close_connection = True; return
            time.sleep(self.config.get("pause", 0))
            try:
                if fault == "drop_before": raise ConnectionAbortedError
                if fault == "slowdown": raise Refusal(503, "SlowDown", "Please reduce your request rate.")
                if fault == "unimplemented": raise Refusal(501, "NotImplemented", "A header you provided implies functionality that is not implemented.")
                if fault == "denied": raise Refusal(403, "AccessDenied", "Access Denied")
                if fault == "internal": raise Refusal(500, "InternalError", "We encountered an internal error.")
                if fault == "conflict": raise Refusal(409, "ConditionalRequestConflict", "Conflicting operation.")
                if fault == "flip": self.body = bytes([self.body[0] ^ 1]) + self.body[1:]
                self.authorise()
                if fault == "error200":
                    return self.answer(200, {"Content-Type": "application/xml"},
                        b'<?xml version="1.0" encoding="UTF-8"?>\n  \n' + self.error_body("InternalError", "We encountered an internal error.", {}))
                with lock: status, headers, body = getattr(self, "do_" + self.op)()
                if fault == "drop_after": raise ConnectionAbortedError
                self.answer(status, headers, body)
            except Refusal as r:
                self.answer(r.status, {"Content-Type": "application/xml", **r.more.pop("headers", {})},
                            self.error_body(r.code, r.message, r.more))
            except (ConnectionAbortedError, BrokenPipeError, ConnectionResetError):
                self.note(0); self.close_connection = True
                try: self.connection.shutdown(2)
                except OSError: pass

        def receive(self, length):
            rate, data = self.config.get("rate"), bytearray()
            while len(data) < length:
                try: piece = self.rfile.read(min(65536, length - len(data)))
                except OSError: break
                if not piece: break
                data += piece
                if rate: time.sleep(len(piece) / rate)
            return bytes(data)

        def error_body(self, code, message, more):
            tags = "".join(f"<{k}>{xml(str(v))}</{k}>" for k, v in more.items())
            return f'<Error><Code>{code}</Code><Message>{xml(message)}</Message>{tags}<RequestId>R1</RequestId></Error>'.encode()

        def operation(self):
            m, q = self.command, self.query
            bucket, _, key = self.path_part[1:].partition("/")
            self.bucket, self.key = bucket, up.unquote(key)
            if m == "POST" and self.path_part == "/": return "assume"
            if not key: return "list" if m == "GET" else "unknown"
            if m == "POST": return "create" if "uploads" in q else "complete" if "uploadId" in q else "unknown"
            if m == "PUT" and "x-amz-copy-source" in self.headers: return "copypart" if "partNumber" in q else "copy"
            if m == "PUT": return "part" if "partNumber" in q else "put"
            if m == "GET": return "parts" if "uploadId" in q else "tags" if "tagging" in q else "get"
            return {"HEAD": "head", "DELETE": "abort"}.get(m, "unknown")

        def fault(self):
            with log_lock:
                counts[self.op] = counts.get(self.op, 0) + 1
                for rule in self.config.get("faults", []):
                    if rule["on"] == self.op and rule.get("from", 1) <= counts[self.op] < rule.get("from", 1) + rule.get("times", 1):
                        return rule["do"]

        def answer(self, status, headers, body):
            self.send_response(status)
            quiet = self.command == "HEAD" or status in (204, 304)
            for name, value in headers.items(): self.send_header(name, value)
            if "Content-Length" not in headers and status != 204: self.send_header("Content-Length", str(0 if quiet else len(body)))
            self.end_headers()
            if not quiet:
                rate = self.config.get("rate")
                for start in range(0, len(body), 65536):
                    piece = body[start:start + 65536]
                    self.wfile.write(piece)
                    self.sent += len(piece)
                    if rate: time.sleep(len(piece) / rate)
            self.note(status)

        def note(self, status):
            auth = self.headers.get("Authorization") or ""
            line = {"begun": self.begun, "ended": time.time(), "flight": self.flight, "op": self.op, "method": self.command, "path": self.path, "key": self.key, "status": status,
                    "in": len(self.body) if hasattr(self, "body") else 0, "out": self.sent, "range": self.headers.get("Range"),
                    "part": self.query.get("partNumber"), "listed": getattr(self, "listed", None),
                    "sha256": getattr(self, "published", None), "upload": self.query.get("uploadId"), "who": auth.partition("Credential=")[2].partition("/")[0], "fault": getattr(self, "fault_now", None),
                    "headers": {k.lower(): v for k, v in self.headers.items() if k.lower() not in ("authorization", "x-amz-security-token")}}
            self.listed = self.published = None
            with log_lock, open(log_path, "a") as f: f.write(json.dumps(line) + "\n")

        # SigV4, sig-v4-header-based-auth.html

        def authorise(self):
            auth = self.headers.get("Authorization")
            if not auth: raise Refusal(403, "AccessDenied", "Access Denied")
            try:
                scheme, _, rest = auth.partition(" ")
                parts = dict(p.strip().split("=", 1) for p in rest.split(","))
                access, day, region, service, end = parts["Credential"].split("/")
            except (ValueError, KeyError): raise Refusal(400, "AuthorizationHeaderMalformed", "The authorization header is malformed")
            known = "sts" if self.op == "assume" else "s3"
            if (scheme, service, end) != ("AWS4-HMAC-SHA256", known, "aws4_request"):
                raise Refusal(400, "AuthorizationHeaderMalformed", "wrong scope")
            keys = self.config["keys"].get(access)
            if keys is None: raise Refusal(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")
            if keys.get("token") != self.headers.get("X-Amz-Security-Token"):
                raise Refusal(400, "InvalidToken", "The provided token is malformed or otherwise invalid.")
            with log_lock: counts[access] = counts.get(access, 0) + 1
            if keys.get("parts", 1 << 30) <= counts.get("taken", 0) or counts[access] > keys.get("requests", 1 << 30): raise Refusal(400, "ExpiredToken", "The provided token has expired.", **{"Token-0": keys.get("token")})
            wanted = self.config.get("region", "us-east-1")
            if region != wanted:
                raise Refusal(400, "AuthorizationHeaderMalformed", f"the region '{region}' is wrong; expecting '{wanted}'", Region=wanted)
            stamp = self.headers.get("X-Amz-Date") or ""
            if not stamp.startswith(day): raise Refusal(403, "AccessDenied", "date and scope differ")
            then = calendar.timegm(time.strptime(stamp, "%Y%m%dT%H%M%SZ"))
            if abs(then - self.now()) > 900: raise Refusal(403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.")
            payload = self.headers.get("X-Amz-Content-SHA256")
            if not payload: raise Refusal(400, "InvalidRequest", "Missing required header for this request: x-amz-content-sha256")
            names = parts["SignedHeaders"].split(";")
            if names != sorted(names) or "host" not in names: raise Refusal(403, "SignatureDoesNotMatch", "SignedHeaders")
            for name in self.headers.keys():
                if name.lower().startswith("x-amz-") and name.lower() not in names:
                    raise Refusal(403, "AccessDenied", "There were headers present in the request which were not signed", HeadersNotSigned=name)
            lines = ""
            for name in names:
                values = self.headers.get_all(name)
                if values is None: raise Refusal(403, "SignatureDoesNotMatch", f"{name} is signed and was not sent")
                lines += name + ":" + ",".join(" ".join(v.split()) for v in values) + "\n"
            # The service encodes what it has decoded: every character once, in one way.
            path = up.quote(up.unquote_to_bytes(self.path_part), safe="/-_.~")
            if "+" in self.query_part: raise Refusal(403, "SignatureDoesNotMatch", "a blank is %20")
            pairs = sorted((up.quote(k, safe="-_.~"), up.quote(v, safe="-_.~")) for k, v in up.parse_qsl(self.query_part, keep_blank_values=True))
            query = "&".join(f"{k}={v}" for k, v in pairs)
            canonical = "\n".join([self.command, path, query, lines, ";".join(names), payload])
            text = "\n".join([scheme, stamp, f"{day}/{region}/{known}/aws4_request", hashlib.sha256(canonical.encode()).hexdigest()])
            key = ("AWS4" + keys["secret"]).encode()
            for step in (day, region, known, "aws4_request"): key = hmac.new(key, step.encode(), hashlib.sha256).digest()
            if hmac.new(key, text.encode(), hashlib.sha256).hexdigest() != parts["Signature"]:
                raise Refusal(403, "SignatureDoesNotMatch", "The request signature we calculated does not match.", StringToSign=text)
            if payload != "UNSIGNED-PAYLOAD" and payload != hashlib.sha256(self.body).hexdigest():
                raise Refusal(400, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed.")
            if self.op == "assume": return
            if self.bucket != self.config.get("bucket", "bkt"): raise Refusal(404, "NoSuchBucket", "The specified bucket does not exist")
            if self.headers.get("Content-Type", "").startswith("application/x-www-form-urlencoded"):
                raise Refusal(400, "InvalidRequest", "a form")

        def sent_checksum(self):
            found = {a: self.headers["x-amz-checksum-" + a.lower()] for a in ALGORITHMS if self.headers.get("x-amz-checksum-" + a.lower())}
            if len(found) > 1: raise Refusal(400, "InvalidRequest", "Expecting a single x-amz-checksum- header")
            return next(iter(found.items()), (None, None))

        # Stores that encrypt have ETags of their own; `odd_etags` are such, and no checksums are told.
        def etag(self, body): return '"' + hashlib.md5((b"salt" if self.config.get("odd_etags") else b"") + body).hexdigest() + '"'

        def check_checksum(self, body):
            sum = self.headers.get("Content-MD5")
            if sum and sum != b64(hashlib.md5(body).digest()): raise Refusal(400, "BadDigest", "The Content-MD5 you specified did not match what we received.")
            algorithm, told = self.sent_checksum()
            if algorithm and b64(ALGORITHMS[algorithm](body)) != told:
                raise Refusal(400, "BadDigest", f"The {algorithm} you specified did not match the calculated checksum.")
            return algorithm, told

        def refuse_existing(self):
            if self.headers.get("If-None-Match") == "*" and self.key in objects:
                raise Refusal(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold", Condition="If-None-Match")

        def stored(self):
            return {k.lower(): v for k, v in self.headers.items() if k.lower().startswith("x-amz-meta-") or k.lower() in
                    ("content-type", "cache-control", "content-language", "content-disposition", "content-encoding", "x-amz-tagging", "x-amz-acl", "x-amz-storage-class", "x-amz-server-side-encryption")}

        def publish(self, body, etag, facts, checksum):
            version = f"v{len(objects)}-{time.time_ns()}"
            self.published = hashlib.sha256(body).hexdigest()
            objects[self.key] = {"body": body, "etag": etag, "facts": facts, "checksum": checksum, "version": version,
                                 "modified": formatdate(self.now(), usegmt=True)}
            return {"ETag": etag, "x-amz-version-id": version}

        # The security token service, API_AssumeRole.html: `roles` says which id's keys a role has.
        def do_assume(self):
            if not self.headers.get("Content-Type", "").startswith("application/x-www-form-urlencoded"): raise Refusal(400, "InvalidAction", "no form")
            form = dict(up.parse_qsl(self.body.decode(), strict_parsing=True))
            if (form.pop("Action", ""), form.pop("Version", "")) != ("AssumeRole", "2011-06-15"): raise Refusal(400, "InvalidAction", "Could not find operation")
            role, name = self.config.get("roles", {}).get(form.pop("RoleArn", "")), form.pop("RoleSessionName", "")
            life = int(form.pop("DurationSeconds", 3600))
            if not 2 <= len(name) <= 64 or not 900 <= life <= 43200: raise Refusal(400, "ValidationError", "constraints")
            if role is None or form.pop("ExternalId", None) != role.get("external") or form:
                return 403, {"Content-Type": "text/xml"}, b'<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>User is not authorized to perform: sts:AssumeRole</Message></Error><RequestId>R</RequestId></ErrorResponse>'
            keys = self.config["keys"][role["id"]]
            end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + role.get("life", life)))
            return 200, {"Content-Type": "text/xml"}, (
                '<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><AssumedRoleUser><Arn>a</Arn></AssumedRoleUser>'
                f'<Credentials><AccessKeyId>{role["id"]}</AccessKeyId><SecretAccessKey>{xml(keys["secret"])}</SecretAccessKey><SessionToken>{xml(keys["token"])}</SessionToken>'
                f'<Expiration>{end}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>').encode()

        def do_put(self):
            if len(self.body) > 5 << 30: raise Refusal(400, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size")
            self.refuse_existing()
            algorithm, told = self.check_checksum(self.body)
            # What says nothing gets the default.
            algorithm, told = (algorithm, told) if algorithm else ("CRC64NVME", b64(ALGORITHMS["CRC64NVME"](self.body)))
            names = {"x-amz-checksum-" + algorithm.lower(): told, "x-amz-checksum-type": "FULL_OBJECT"}
            if self.config.get("odd_etags"): names = {}
            return 200, {**self.publish(self.body, self.etag(self.body), self.stored(), names), **names}, b""

        def do_create(self):
            algorithm = self.headers.get("x-amz-checksum-algorithm")
            kind = self.headers.get("x-amz-checksum-type") or ("FULL_OBJECT" if algorithm in (None, "CRC64NVME") else "COMPOSITE")
            if (algorithm, kind) in (("CRC64NVME", "COMPOSITE"), ("SHA256", "FULL_OBJECT")): raise Refusal(400, "InvalidRequest", "type")
            identity = f"up+/={len(uploads)}{time.time_ns()}"
            uploads[identity] = {"key": self.key, "algorithm": algorithm, "type": kind, "parts": {}, "facts": self.stored()}
            return 200, {"Content-Type": "application/xml"}, (
                f'<?xml version="1.0"?><InitiateMultipartUploadResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Bucket>{self.bucket}</Bucket>'
                f'<Key>{xml(self.key)}</Key><UploadId>{identity}</UploadId></InitiateMultipartUploadResult>').encode()

        # API_CopyObject.html. The fault `intrude` has another client replace the source before it, `ignorant` stores what came:
        # nothing.
        def copy_source(self):
            name, _, version = self.headers["x-amz-copy-source"].partition("?versionId=")
            bucket, _, key = up.unquote(name).removeprefix("/").partition("/")
            if self.body: raise Refusal(400, "InvalidRequest", "a copy has no body")
            if bucket != self.config.get("bucket", "bkt"): raise Refusal(404, "NoSuchBucket", "The specified bucket does not exist")
            found = objects.get(key)
            if found is None or version and up.unquote(version) != found["version"]: raise Refusal(404, "NoSuchKey", "The specified key does not exist.")
            if self.fault_now == "intrude":
                body = hashlib.sha256(found["body"][:32]).digest() + found["body"][32:]
                found = {**found, "body": body, "etag": self.etag(body), "checksum": {}, "version": f"i{time.time_ns()}", "modified": formatdate(self.now() + 5, usegmt=True)}
                objects[key] = found
            wanted = self.headers.get("x-amz-copy-source-if-match")
            if wanted and wanted.strip('"') != found["etag"].strip('"') and not self.config.get("unconditional"):
                raise Refusal(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold", Condition="x-amz-copy-source-If-Match")
            return found

        def do_copy(self):
            if self.fault_now == "ignorant": return 200, self.publish(b"", self.etag(b""), {}, {}), b""
            found = self.copy_source()
            if len(found["body"]) > 5 << 30: raise Refusal(400, "InvalidRequest", "The specified copy source is larger than the maximum allowable size")
            if self.headers.get("If-None-Match"): raise Refusal(501, "NotImplemented", "A header you provided implies functionality that is not implemented.")
            directive = self.headers.get("x-amz-metadata-directive", "COPY")
            if directive not in ("COPY", "REPLACE"): raise Refusal(400, "InvalidArgument", "Unknown metadata directive.")
            said, kept = self.stored(), found["facts"]
            described = ("content-type", "cache-control")
            facts = {k: v for k, v in (kept if directive == "COPY" else said).items() if k in described or k.startswith("x-amz-meta-")}
            facts |= {k: v for k, v in said.items() if k in ("x-amz-acl", "x-amz-storage-class", "x-amz-server-side-encryption")}
            tags = said if self.headers.get("x-amz-tagging-directive") == "REPLACE" else kept
            if "x-amz-tagging" in tags: facts["x-amz-tagging"] = tags["x-amz-tagging"]
            algorithm = self.headers.get("x-amz-checksum-algorithm")
            if algorithm and algorithm not in ALGORITHMS: raise Refusal(400, "InvalidRequest", "Checksum algorithm provided is unsupported.")
            names = {f"x-amz-checksum-{algorithm.lower()}": b64(ALGORITHMS[algorithm](found["body"])), "x-amz-checksum-type": "FULL_OBJECT"} if algorithm else found["checksum"]
            if self.config.get("odd_etags"): names = {}
            etag = self.etag(found["body"])
            headers = self.publish(found["body"], etag, facts, names)
            sums = "".join(f"<Checksum{k.rpartition('-')[2].upper()}>{v}</Checksum{k.rpartition('-')[2].upper()}>" for k, v in names.items() if k != "x-amz-checksum-type")
            return 200, {"Content-Type": "application/xml", "x-amz-version-id": headers["x-amz-version-id"]}, (
                f'<?xml version="1.0" encoding="UTF-8"?>\n  \n<CopyObjectResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><ETag>{xml(etag)}</ETag>'
                f'<LastModified>2026-01-01T00:00:00.000Z</LastModified>{sums}</CopyObjectResult>').encode()

        def do_copypart(self):
            upload, number, found = self.upload(), int(self.query["partNumber"]), self.copy_source()
            if not 1 <= number <= 10000: raise Refusal(400, "InvalidArgument", "Part number must be an integer between 1 and 10000")
            body, wanted = found["body"], self.headers.get("x-amz-copy-source-range")
            if wanted:
                first, _, last = wanted.removeprefix("bytes=").partition("-")
                first, last = int(first), int(last)
                if len(body) <= 5 << 20 or not 0 <= first <= last < len(body): raise Refusal(400, "InvalidRange", "The specified copy range is invalid for the source object size")
                body = body[first:last + 1]
            etag, algorithm = self.etag(body), upload["algorithm"]
            told = b64(ALGORITHMS[algorithm](body)) if algorithm else None
            upload["parts"][number] = {"body": body, "etag": etag, "checksum": told}
            sums = f"<Checksum{algorithm}>{told}</Checksum{algorithm}>" if algorithm else ""
            return 200, {"Content-Type": "application/xml"}, (
                f'<?xml version="1.0" encoding="UTF-8"?><CopyPartResult><ETag>{xml(etag)}</ETag><LastModified>2026-01-01T00:00:00.000Z</LastModified>{sums}</CopyPartResult>').encode()

        def upload(self):
            upload = uploads.get(self.query["uploadId"])
            if upload is None or upload["key"] != self.key: raise Refusal(404, "NoSuchUpload", "The specified upload does not exist.")
            return upload

        def do_part(self):
            upload, number = self.upload(), int(self.query["partNumber"])
            if not 1 <= number <= 10000: raise Refusal(400, "InvalidArgument", "Part number must be an integer between 1 and 10000")
            algorithm, told = self.check_checksum(self.body)
            if upload["algorithm"] and algorithm != upload["algorithm"]:
                raise Refusal(400, "InvalidRequest", f"Checksum Type mismatch occurred, expected {upload['algorithm']}, got {algorithm}")
            etag = self.etag(self.body)
            upload["parts"][number] = {"body": self.body, "etag": etag, "checksum": told}
            with log_lock: counts["taken"] = counts.get("taken", 0) + 1
            return 200, {"ETag": etag, **({"x-amz-checksum-" + algorithm.lower(): told} if algorithm else {})}, b""

        def do_parts(self):
            upload = self.upload()
            after, most = int(self.query.get("part-number-marker") or 0), min(int(self.query.get("max-parts") or 1000), self.config.get("page", 1000))
            numbers = [n for n in sorted(upload["parts"]) if n > after]
            self.listed = numbers[:most]
            out = "".join(
                f"<Part><PartNumber>{n}</PartNumber><ETag>{xml(upload['parts'][n]['etag'])}</ETag><Size>{len(upload['parts'][n]['body'])}</Size>"
                + (f"<Checksum{upload['algorithm']}>{upload['parts'][n]['checksum']}</Checksum{upload['algorithm']}>" if upload["algorithm"] else "") + "</Part>"
                for n in numbers[:most])
            cut = len(numbers) > most
            mark = f"<NextPartNumberMarker>{numbers[most - 1]}</NextPartNumberMarker>" if cut else ""
            return 200, {"Content-Type": "application/xml"}, (
                f'<?xml version="1.0"?><ListPartsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{mark}<IsTruncated>{str(cut).lower()}</IsTruncated>{out}</ListPartsResult>').encode()

        def do_complete(self):
            import xml.etree.ElementTree as tree
            upload = self.upload()
            self.refuse_existing()
            try: root = tree.fromstring(self.body)
            except tree.ParseError: raise Refusal(400, "MalformedXML", "The XML you provided was not well-formed")
            wanted, names = [], {}
            for part in root:
                wanted.append({child.tag.rpartition("}")[2]: child.text for child in part})
            numbers = [int(p["PartNumber"]) for p in wanted]
            if not numbers: raise Refusal(400, "MalformedXML", "no parts")
            if numbers != sorted(set(numbers)) or upload["algorithm"] and numbers != list(range(1, len(numbers) + 1)):
                raise Refusal(400, "InvalidPartOrder", "The list of parts was not in ascending order.")
            for number, told in zip(numbers, wanted):
                have = upload["parts"].get(number)
                if have is None or have["etag"].strip('"') != told["ETag"].strip('"'): raise Refusal(400, "InvalidPart", "One or more of the specified parts could not be found.")
                if upload["type"] == "COMPOSITE" and told.get("Checksum" + upload["algorithm"]) != have["checksum"]:
                    raise Refusal(400, "InvalidPart", "The upload was created using a checksum: each part must be told with it.")
                if number != numbers[-1] and len(have["body"]) < 5 << 20: raise Refusal(400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size")
            body = b"".join(upload["parts"][n]["body"] for n in numbers)
            told = self.headers.get("x-amz-mp-object-size")
            if told and int(told) != len(body): raise Refusal(400, "InvalidRequest", "The provided object size does not match")
            if upload["type"] == "COMPOSITE":
                whole = b64(hashlib.sha256(b"".join(base64.b64decode(upload["parts"][n]["checksum"]) for n in numbers)).digest()) + f"-{len(numbers)}"
                names = {"x-amz-checksum-sha256": whole, "x-amz-checksum-type": "COMPOSITE"}
            else:
                self.check_checksum(body)
                names = {"x-amz-checksum-crc64nvme": b64(ALGORITHMS["CRC64NVME"](body)), "x-amz-checksum-type": "FULL_OBJECT"}
            if self.config.get("odd_etags"): names = {}
            etag = '"' + hashlib.md5(b"".join(bytes.fromhex(upload["parts"][n]["etag"].strip('"')) for n in numbers)).hexdigest() + f'-{len(numbers)}"'
            headers = self.publish(body, etag, upload["facts"], names)
            del uploads[self.query["uploadId"]]
            inner = "".join(f"<Checksum{k.rpartition('-')[2].upper() if k != 'x-amz-checksum-type' else 'Type'}>{v}</Checksum{k.rpartition('-')[2].upper() if k != 'x-amz-checksum-type' else 'Type'}>" for k, v in names.items())
            if self.config.get("silent_complete"): inner = ""
            return 200, {"Content-Type": "application/xml", "x-amz-version-id": headers["x-amz-version-id"]}, (
                '<?xml version="1.0" encoding="UTF-8"?>\n   \n'
                f'<CompleteMultipartUploadResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><ETag>{xml(etag)}</ETag>{inner}</CompleteMultipartUploadResult>').encode()

        def do_abort(self):
            self.upload()
            # Parts that were on their way keep it.
            if self.fault_now == "linger": return 204, {}, b""
            del uploads[self.query["uploadId"]]
            return 204, {}, b""

        def do_tags(self):
            found = objects.get(self.key)
            if found is None: raise Refusal(404, "NoSuchKey", "The specified key does not exist.")
            if self.config.get("untagged"): raise Refusal(501, "NotImplemented", "A header you provided implies functionality that is not implemented")
            tags = up.parse_qsl(found["facts"].get("x-amz-tagging", ""), keep_blank_values=True)
            return 200, {"Content-Type": "application/xml"}, (
                '<?xml version="1.0" encoding="UTF-8"?><Tagging xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><TagSet>'
                + "".join(f"<Tag><Key>{xml(k)}</Key><Value>{xml(v)}</Value></Tag>" for k, v in tags) + "</TagSet></Tagging>").encode()

        def do_head(self): return self.do_get()

        def do_get(self):
            found = objects.get(self.key)
            if found is None: raise Refusal(404, "NoSuchKey", "The specified key does not exist.")
            if self.headers.get("If-Match") not in (None, found["etag"]): raise Refusal(412, "PreconditionFailed", "", Condition="If-Match")
            body, total = found["body"], len(found["body"])
            headers = {"ETag": found["etag"], "Last-Modified": found["modified"], "x-amz-version-id": found["version"], "Accept-Ranges": "bytes",
                       **{k: v for k, v in found["facts"].items() if k.startswith("x-amz-meta") or k in ("content-type", "cache-control", "content-language", "content-disposition", "content-encoding", "x-amz-storage-class")}}
            tags = up.parse_qsl(found["facts"].get("x-amz-tagging", ""), keep_blank_values=True)
            if tags and not self.config.get("uncounted"): headers["x-amz-tagging-count"] = str(len(tags))
            wanted, status = self.headers.get("Range"), 200
            if wanted:
                first, _, last = wanted.removeprefix("bytes=").partition("-")
                first, last = int(first), min(int(last or total - 1), total - 1)
                if first >= total: raise Refusal(416, "InvalidRange", "The requested range is not satisfiable", headers={"Content-Range": f"bytes */{total}"})
                body, status = body[first:last + 1], 206
                headers["Content-Range"] = f"bytes {first}-{last}/{total}"
            elif self.headers.get("x-amz-checksum-mode") == "ENABLED": headers |= found["checksum"]
            return status, {**headers, "Content-Length": str(len(body))}, body

        def do_list(self):
            prefix, mark = self.query.get("prefix", ""), self.query.get("continuation-token")
            if self.query.get("list-type") != "2": raise Refusal(400, "InvalidArgument", "list-type")
            most = min(int(self.query.get("max-keys") or 1000), self.config.get("page", 1000))
            keys = sorted((k for k in objects if k.startswith(prefix)), key=lambda k: k.encode())
            if mark: keys = [k for k in keys if k.encode() > base64.b64decode(mark)]
            start = self.query.get("start-after")
            if start and not mark: keys = [k for k in keys if k.encode() > start.encode()]
            folders = []
            if self.query.get("delimiter") == "/":
                folders = sorted({prefix + k[len(prefix):].partition("/")[0] + "/" for k in keys if "/" in k[len(prefix):]})
                keys = [k for k in keys if "/" not in k[len(prefix):]]
                most = max(0, most - len(folders))
            cut = len(keys) > most
            out = "".join(f"<CommonPrefixes><Prefix>{up.quote_plus(f, safe='/')}</Prefix></CommonPrefixes>" for f in folders) + "".join(f"<Contents><Key>{up.quote_plus(k, safe='/')}</Key><ETag>{xml(objects[k]['etag'])}</ETag><Size>{len(objects[k]['body'])}</Size></Contents>" for k in keys[:most])
            next_mark = f"<NextContinuationToken>{b64(keys[most - 1].encode())}</NextContinuationToken>" if cut else ""
            return 200, {"Content-Type": "application/xml"}, (
                f'<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>{str(cut).lower()}</IsTruncated>'
                f'{next_mark}<EncodingType>url</EncodingType>{out}</ListBucketResult>').encode()

        def do_unknown(self): raise Refusal(405, "MethodNotAllowed", "The specified method is not allowed against this resource.")

    ThreadingHTTPServer.request_queue_size = 64
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()
    """#
}
