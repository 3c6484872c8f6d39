import Digests
import Endpoints
import Foundation
import JobModel
import TestSupport
import Testing

/// Requests of every kind that haul makes of S3, for generated keys, ids and marks: botocore makes its own address
/// from the same inputs, and its signature is ours.
struct S3SigningTests {
  private static let time = 1_767_323_045.0  // 20260102T030405Z

  /// What botocore is given: an operation with its parameters, and our headers.
  private struct Case: Encodable {
    var operation: String
    var parameters: [String: String]
    var headers: [[String]]
    var token: String?
    var ours: String
  }

  @Test func everyKindEqualsBotocore() async throws {
    var random = SeededRandom(0x5333)
    var cases: [Case] = []
    for number in 0..<25 { cases += try Self.round(number, &random) }
    #expect(cases.count == 225)
    let scratch = try Scratch()
    let path = try scratch.write(
      "cases.json", String(decoding: try JSONEncoder().encode(cases), as: UTF8.self))
    let theirs = try JSONDecoder().decode(
      [String].self, from: Data(try await Venv.run(Self.script, [path]).utf8))
    #expect(theirs.count == cases.count)
    for (one, theirs) in zip(cases, theirs) {
      #expect(one.ours == theirs, "\(one.operation) \(one.parameters)")
    }
  }

  /// What a role's keys are asked for with: signed for another service, by the rules that all but S3 have.
  @Test(arguments: [nil, "TOK/EN==+"]) func assumeRoleEqualsBotocore(_ token: String?) async throws {
    let role = AWSRole(
      arn: "arn:aws:iam::123456789012:role/a+b", sessionName: "n@ight", externalID: "x/1 é", duration: 900)
    let assume = AssumeRole(role, region: "eu-west-1")
    let request = try #require(assume.request())
    #expect(request.url.text == "https://sts.eu-west-1.amazonaws.com/")
    #expect(
      AssumeRole(role, region: "cn-north-1").request()?.url.host == "sts.cn-north-1.amazonaws.com.cn")
    guard case .bytes(let body) = request.body else { throw TestFault("no form") }
    var headers = request.headers
    try SigV4(
      keys: AWSKeys(
        accessKeyID: "AKIDEXAMPLE", secretAccessKey: Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
        sessionToken: token.map { Secret($0) }), region: assume.region, service: "sts"
    ).sign(request.method, request.url, &headers, at: Self.time)
    let theirs = try await Venv.run(
      """
      import datetime, sys
      import botocore.auth as auth
      from botocore.awsrequest import AWSRequest
      from botocore.credentials import Credentials
      now = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
      auth.get_current_datetime = lambda *a, **k: now
      url, body, kind, digest, token = sys.argv[1:]
      headers = {'Content-Type': kind, 'x-amz-content-sha256': digest}
      request = AWSRequest(method='POST', url=url, data=body.encode(), headers=headers)
      credentials = Credentials('AKIDEXAMPLE', 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY', token or None)
      auth.SigV4Auth(credentials, 'sts', 'eu-west-1').add_auth(request)
      print(request.headers['Authorization'], end='')
      """,
      [
        request.url.text, String(decoding: body, as: UTF8.self), headers["Content-Type"] ?? "",
        headers["x-amz-content-sha256"] ?? "", token ?? "",
      ])
    #expect(headers["Authorization"] == theirs)
  }

  private static func round(_ number: Int, _ random: inout SeededRandom) throws -> [Case] {
    let alphabet = Array("aZ9-_.~ /+&=%?#!'()*;:@$,[]\"<>|\\^`{}äé漢😀\u{0301}")
    func text(_ least: Int, _ most: Int) -> String {
      String(
        (0..<Int.random(in: least...most, using: &random)).map { _ in
          alphabet[Int.random(in: alphabet.indices, using: &random)]
        })
    }
    let key = "k" + text(0, 12) + (["", "/../x", "//", "/./y", "/"].randomElement(using: &random) ?? "")
    let (id, mark, prefix) = (text(1, 20), text(1, 9), text(0, 9))
    var settings = S3Settings()
    settings.bucket = "bkt"
    settings.tags = number % 3 == 0 ? ["tag " + text(0, 3): text(0, 5)] : [:]
    settings.metadata = number % 2 == 0 ? ["a-b": "x  y", "a": " p "] : [:]
    settings.checksum = [.crc64nvme, .sha256, .none][number % 3]
    let address = S3Address(base: try #require(WebURL("http://127.0.0.1:9000")), settings: settings)
    let upload = S3Upload(address: address, settings: settings, key: key)
    let download = S3Download(address: address, settings: settings, key: key)
    var source = UploadSource(
      size: 50 << 20, contentType: "text/plain; charset=\"utf-8\"", chunkSize: 5 << 20,
      digests: [.crc64nvme: "ae8b14860a799888"])
    source.mustBeNew = number % 2 == 1
    let session = RemoteSession(id: id, chunkSize: 5 << 20)
    let sum = String(repeating: "ab", count: 32)
    let part = Int.random(in: 0..<10_000, using: &random)
    let chunk = UploadChunk(
      index: part, range: 0..<5, digests: [.sha256: sum, .crc64nvme: "ae8b14860a799888"])
    var object = RemoteObject()
    object.etag = "\"e\""
    var page = SessionHoldings()
    page.nextPage = String(part)
    let records = [ChunkRecord(offset: 0, length: 5, digest: sum, receipt: "e")]
    let token = number % 4 == 0 ? "TOK/EN==+" : nil
    let place = ["Bucket": "bkt", "Key": key]
    func with(_ more: [String: String]) -> [String: String] { place.merging(more) { $1 } }
    let requests: [(String, [String: String], Request?)] = [
      ("CreateMultipartUpload", place, upload.open(source, renewing: nil)),
      (
        "UploadPart", with(["UploadId": id, "PartNumber": "\(part + 1)"]),
        upload.put(chunk, session: session, source: source)
      ),
      (
        "ListParts", with(["UploadId": id, "MaxParts": "1000", "PartNumberMarker": "\(part)"]),
        upload.query(session, after: page)
      ),
      (
        "CompleteMultipartUpload", with(["UploadId": id]),
        upload.finalize(session, source: source, chunks: records)
      ),
      ("AbortMultipartUpload", with(["UploadId": id]), upload.abort(session)),
      ("PutObject", place, upload.put(chunk, session: nil, source: source)),
      ("HeadObject", place, download.probe()),
      ("GetObject", place, download.get(5..<9, of: object)),
      (
        "ListObjectsV2",
        [
          "Bucket": "bkt", "Prefix": prefix, "ContinuationToken": mark, "MaxKeys": "1000",
          "EncodingType": "url",
        ],
        S3Listing(address: address, settings: settings).list(prefix, page: mark)
      ),
    ]
    return try requests.map { operation, parameters, request in
      let request = try #require(request)
      var headers = request.headers
      // Not signed: a proxy on the way may change it.
      let given = headers.fields.filter { $0.name != "Accept-Encoding" }.map { [$0.name, $0.value] }
      try SigV4(
        keys: AWSKeys(
          accessKeyID: "AKIDEXAMPLE", secretAccessKey: Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
          sessionToken: token.map { Secret($0) }), region: "us-east-1"
      ).sign(request.method, request.url, &headers, at: time)
      return Case(
        operation: operation, parameters: parameters, headers: given, token: token,
        ours: "\(request.method) \(headers["Authorization"] ?? "unsigned")")
    }
  }

  private static let script = """
    import datetime, json, sys
    import botocore.auth as auth, botocore.session, botocore.serialize as serialize
    from botocore.awsrequest import create_request_object, prepare_request_dict
    from botocore.credentials import Credentials
    now = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
    auth.get_current_datetime = lambda *a, **k: now
    # The digest of the body is as told: bodies of parts are no concern of the address.
    auth.S3SigV4Auth.payload = lambda self, request: self.told
    model = botocore.session.get_session().get_service_model('s3')
    serializer, signed = serialize.create_serializer('rest-xml'), []
    for one in json.load(open(sys.argv[1])):
        given = one['parameters']
        for name in ('PartNumber', 'MaxParts', 'PartNumberMarker', 'MaxKeys'):
            if name in given: given[name] = int(given[name])
        operation = model.operation_model(one['operation'])
        made = serializer.serialize_to_request(given, operation)
        prepare_request_dict(made, endpoint_url='http://127.0.0.1:9000')
        request = create_request_object(made)
        for name in list(request.headers): del request.headers[name]
        told = None
        for name, value in one['headers']:
            if name.lower() == 'x-amz-content-sha256': told = value
            request.headers[name] = value
        credentials = Credentials('AKIDEXAMPLE', 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY', one.get('token'))
        signer = auth.S3SigV4Auth(credentials, 's3', 'us-east-1')
        signer.told = told
        signer.add_auth(request)
        signed.append(operation.http['method'] + ' ' + request.headers['Authorization'])
    print(json.dumps(signed))
    """
}
