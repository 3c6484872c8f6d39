import Foundation

/// moto's S3: another implementation than ours on the other side. It checks neither signatures nor checksums.
package final class Moto: Sendable {
  package let url: String
  package let process: Running
  package static let environment = [
    "AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1",
  ]

  package init(_ bench: Bench) async throws {
    let python = try Venv.python()
    let port: Int
    (port, process) = try await Loopback.serve { port in
      try bench.serve(
        python, ["-m", "moto.server", "-H", "127.0.0.1", "-p", "\(port)"], environment: Self.environment)
    }
    url = "http://127.0.0.1:\(port)"
    _ = try await boto("s3.create_bucket(Bucket='bkt')")
  }

  package func endpoint(_ more: String = "") -> String {
    "{ type: s3, url: \(quoted(url)), bucket: bkt, auth: { aws: { env: true } }\(more.isEmpty ? "" : ", " + more) }"
  }

  /// Runs Python with `s3`, a boto3 client of it.
  package func boto(_ script: String, _ arguments: [String] = []) async throws -> String {
    let head = """
      import boto3, hashlib, json, os, sys
      s3 = boto3.client('s3', endpoint_url=\(quoted(url)))

      """
    return try await Venv.run(head + script, arguments, environment: Self.environment)
  }

  /// SHA-256 of an object, as curl reads it; nil where there is none.
  package func digest(_ key: String) throws -> String? {
    // Any signature will do, and without one an object is nobody's to read.
    let signed = "-H 'Authorization: AWS4-HMAC-SHA256 Credential=x/20200101/us-east-1/s3/aws4_request'"
    let told = try Sums.shell(
      "t=$(mktemp) && if curl -sf \(signed) -o $t \(url)/bkt/\(key); then sha256sum $t; fi; rm -f $t", in: "/"
    )
    return told.isEmpty ? nil : String(told.prefix(64))
  }

  /// SHA-256 of every object below a prefix, by key, as boto3 reads them.
  package func sums(_ prefix: String = "") async throws -> [String: String] {
    let text = try await boto(
      """
      sums = {}
      for page in s3.get_paginator('list_objects_v2').paginate(Bucket='bkt', Prefix=sys.argv[1]):
          for item in page.get('Contents', []):
              body = s3.get_object(Bucket='bkt', Key=item['Key'])['Body']
              digest = hashlib.sha256()
              for piece in body.iter_chunks(1 << 20): digest.update(piece)
              sums[item['Key']] = digest.hexdigest()
      print(json.dumps(sums))
      """, [prefix])
    guard case .object(let members) = try JSON.parse(text) else { throw TestFault("no sums: \(text)") }
    return members.compactMapValues(\.string)
  }

  /// What its log of requests has, a line each: `"PUT /bkt/a?partNumber=1 HTTP/1.1" 200`.
  package var visits: [String] {
    process.errors.split(separator: "\n").filter { $0.contains("HTTP/1.1\"") }.map(String.init)
  }
}
