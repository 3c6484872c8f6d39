import Digests
import Endpoints
import Foundation
import JobModel
import TestSupport
import Testing

private struct Vector: Sendable, CustomTestStringConvertible {
  let name: String
  let method: String
  let url: String
  let headers: HeaderList
  let token: String?
  let signature: String
  let names: String

  init(
    _ name: String, _ method: String, _ url: String, _ headers: HeaderList, token: String?,
    signature: String, names: String
  ) {
    self.name = name
    self.method = method
    self.url = url
    self.headers = headers
    self.token = token
    self.signature = signature
    self.names = names
  }

  var testDescription: String { name }
}

/// Made by botocore (`sigv4_vectors.json` of the project's references).
private let vectors = [
  Vector(
    "create", "POST", "http://127.0.0.1:9000/bkt/dir/a%20b%2Bc.bin?uploads=",
    ["X-Amz-Content-SHA256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"], token: nil,
    signature: "cb8ce51a903e1338fe02bbaae4afc9796bbad2fe8aa2f9c696e4aa3b40597380",
    names: "host;x-amz-content-sha256;x-amz-date"),
  Vector(
    "part", "PUT", "http://127.0.0.1:9000/bkt/k?partNumber=12&uploadId=Ab%2B%2FC%3D",
    ["X-Amz-Content-SHA256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"], token: nil,
    signature: "710cd23f67c512de7b13f78983e9bc13241eaf15a5ee7919baff7c5281fd557a",
    names: "host;x-amz-content-sha256;x-amz-date"),
  Vector(
    "range", "GET", "http://bkt.s3.us-east-1.amazonaws.com/k",
    [
      "Range": "bytes=0-9", "If-Match": "\"etag\"",
      "X-Amz-Content-SHA256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ], token: nil,
    signature: "3e6c1928fa9597079d713c3730c94ba84ac00bc8c5c9b8b0f2e734dfb8701a78",
    names: "host;if-match;range;x-amz-content-sha256;x-amz-date"),
  Vector(
    "meta", "PUT", "http://127.0.0.1:9000/bkt/k",
    [
      "x-amz-meta-test": "a", "x-amz-meta-test-two": "b  c",
      "X-Amz-Content-SHA256": "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4",
    ], token: nil,
    signature: "0e5a94e3e306dd84557e1545cb71d5e0b06c8e6e3716da6d8ebf496b2fd07958",
    names: "host;x-amz-content-sha256;x-amz-date;x-amz-meta-test;x-amz-meta-test-two"),
  Vector(
    "token", "GET", "http://127.0.0.1:9000/bkt/%E2%82%AC~x",
    ["X-Amz-Content-SHA256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    token: "TOK/EN==",
    signature: "88998539b1890ab86430fd151a1f377383e3ff20770b2015f9df7b3557d9224a",
    names: "host;x-amz-content-sha256;x-amz-date;x-amz-security-token"),
  Vector(
    "part-unsigned-https", "PUT",
    "https://bkt.s3.us-east-1.amazonaws.com/k?partNumber=12&uploadId=Ab%2B%2FC%3D",
    ["X-Amz-Content-SHA256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"], token: nil,
    signature: "51f7b4307b4d364e0cada9401915b237d1ac388b7b4516c367868956ce37f402",
    names: "host;x-amz-content-sha256;x-amz-date"),
]

private let time = 1_767_323_045.0  // 20260102T030405Z

private func keys(_ token: String?) -> AWSKeys {
  AWSKeys(
    accessKeyID: "AKIDEXAMPLE", secretAccessKey: Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
    sessionToken: token.map { Secret($0) })
}

struct SigV4Tests {
  @Test(arguments: vectors)
  private func botocoresVectors(_ vector: Vector) throws {
    var headers = vector.headers
    try SigV4(keys: keys(vector.token), region: "us-east-1").sign(
      vector.method, try #require(WebURL(vector.url)), &headers, at: time)
    #expect(headers["X-Amz-Date"] == "20260102T030405Z")
    #expect(headers["X-Amz-Security-Token"] == vector.token)
    #expect(
      headers["Authorization"]
        == "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/us-east-1/s3/aws4_request, SignedHeaders=\(vector.names), Signature=\(vector.signature)"
    )
  }

  @Test func secretsAreMarked() throws {
    var headers: HeaderList = ["Content-Type": "text/plain"]
    try SigV4(keys: keys("TOKEN"), region: "us-east-1").sign(
      "PUT", try #require(WebURL("http://h/b/k")), &headers, at: time)
    headers.removeSecrets()
    #expect(headers["Authorization"] == nil && headers["X-Amz-Security-Token"] == nil)
    #expect(headers["Content-Type"] == "text/plain")
  }

  /// Two hundred generated requests, signed by botocore and by us.
  @Test func equalsBotocore() async throws {
    var random = Seeded(state: 0x5349_4756)
    let cases = (0..<200).map { SigningCase.make($0, &random) }
    let scratch = try Scratch()
    let path = try scratch.write(
      "cases.json", String(decoding: try JSONEncoder().encode(cases), as: UTF8.self))
    let signed = try JSONDecoder().decode(
      [String].self, from: Data(try await Venv.run(SigningCase.script, [path]).utf8))
    #expect(signed.count == cases.count)
    for (number, (one, theirs)) in zip(cases, signed).enumerated() {
      var headers = HeaderList()
      for pair in one.headers { headers.append(pair[0], pair[1]) }
      headers.append("X-Amz-Content-SHA256", try Digest.hex(of: Array(one.body.utf8), .sha256))
      try SigV4(keys: keys(one.token), region: one.region).sign(
        one.method, try #require(WebURL(one.url)), &headers, at: time)
      #expect(headers["Authorization"] == theirs, "case \(number): \(one)")
    }
  }
}

private struct SigningCase: Codable {
  var method: String
  var url: String
  var headers: [[String]]
  var body: String
  var token: String?
  var region: String

  static func make(_ number: Int, _ random: inout Seeded) -> SigningCase {
    func pick<Value>(_ values: [Value]) -> Value { values[Int(random.next() % UInt64(values.count))] }
    func text(_ most: Int) -> String {
      let alphabet = Array("aZ9-_.~ /+&=%?#!'()*;:@$,[]\"<>|\\^`{}äé漢😀\u{0301}")
      return String((0..<Int(random.next() % UInt64(most + 1))).map { _ in pick(alphabet) })
    }
    let base = pick([
      "http://127.0.0.1:9000/bkt/", "https://bkt.s3.eu-west-1.amazonaws.com/", "http://[::1]:9000/bkt/",
      "https://minio.example:8443/bkt/",
    ])
    var url = base + WebURL.encode("k" + text(12) + pick(["", "/../x", "//", "/./y", "/"]))
    var names = ["uploads", "partNumber", "uploadId", "prefix", "list-type", "tag", "tag", "x-id", "é"]
    var query: [String] = []
    for _ in 0..<(random.next() % 5) {
      let name = names.remove(at: Int(random.next() % UInt64(names.count)))
      query.append(
        WebURL.encode(name, keepingSlash: false) + "=" + WebURL.encode(text(6), keepingSlash: false))
    }
    if !query.isEmpty { url += "?" + query.joined(separator: "&") }
    var headers: [[String]] = []
    let values = ["a", "b  c", "  padded ", "q\"uote\"", "x,y", "1=2;3"]
    for name in ["Content-Type", "Range", "If-Match", "x-amz-meta-a", "x-amz-meta-a-b", "X-Amz-Acl"]
    where random.next() % 2 == 0 {
      headers.append([name, pick(values)])
    }
    return SigningCase(
      method: pick(["GET", "PUT", "POST", "HEAD", "DELETE"]), url: url, headers: headers,
      body: pick(["", "body", "ünïcode"]), token: pick([nil, nil, "TOK/EN==+"]),
      region: pick(["us-east-1", "eu-central-1"]))
  }

  static let script = """
    import datetime, json, sys
    import botocore.auth as auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials
    now = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
    auth.get_current_datetime = lambda *a, **k: now
    signed = []
    for one in json.load(open(sys.argv[1])):
        request = AWSRequest(method=one['method'], url=one['url'], data=one['body'].encode())
        for name, value in one['headers']: request.headers[name] = value
        # Bodies are signed on https as well.
        request.context['client_config'] = None
        request.context['payload_signing_enabled'] = True
        credentials = Credentials('AKIDEXAMPLE', 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY', one.get('token'))
        auth.S3SigV4Auth(credentials, 's3', one['region']).add_auth(request)
        signed.append(request.headers['Authorization'])
    print(json.dumps(signed))
    """
}

/// SplitMix64.
private struct Seeded {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
}
