import Foundation
package import Testing

/// An S3 server that nobody here wrote, from PyPI (`Scripts/setup`), with a bucket `bkt`.
package final class Store: Sendable {
  package enum Make: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case seaweedfs, juicefs, rclone, swift
    package var testDescription: String { rawValue }
  }

  package let make: Make
  package let url: String
  /// Its log is the process's.
  private let process: Running
  /// Swift's are an account and a user.
  package static let id = "AKIDSTORE:0001"
  package static let secret = "store/secret+0001"
  package static let environment = [
    "AWS_ACCESS_KEY_ID": id, "AWS_SECRET_ACCESS_KEY": secret, "AWS_DEFAULT_REGION": "us-east-1",
  ]

  /// Those of the suite that runs.
  @TaskLocal static var running: [Make: Store] = [:]

  package static func shared(_ make: Make) throws -> Store {
    guard let store = running[make] else { throw TestFault("\(make) was not started: say `.stores`") }
    return store
  }

  /// Starts it again, on other ports, where a connection took one of its ports meanwhile.
  static func start(_ make: Make, _ bench: Bench) async throws -> Store {
    for _ in 0..<3 {
      do { return try await Store(make, bench) } catch let fault as TestFault
        where fault.description.contains("address already in use")
      { continue }
    }
    return try await Store(make, bench)
  }

  private init(_ make: Make, _ bench: Bench) async throws {
    self.make = make
    let folder = try bench.scratch.folder(make.rawValue)
    let bin = try (Venv.python() as NSString).deletingLastPathComponent
    let port = try Loopback.freePort()
    url = "http://127.0.0.1:\(port)"
    switch make {
    case .seaweedfs:
      let config = try bench.scratch.write("seaweedfs.json", Self.identities)
      var arguments = [
        "server", "-dir=\(folder)", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3",
        "-s3.port=\(port)",
        "-s3.config=\(config)", "-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false",
        "-master.volumeSizeLimitMB=64", "-volume.max=50",
      ]
      // Those that it would choose itself are a fixed distance away, and may be taken.
      for name in ["master.port", "volume.port", "filer.port"] {
        arguments += ["-\(name)=\(try Loopback.freePort())", "-\(name).grpc=\(try Loopback.freePort())"]
      }
      arguments.append("-s3.port.grpc=\(try Loopback.freePort())")
      process = try bench.serve(bin + "/weed", arguments)
    case .juicefs:
      let meta = "sqlite3://\(bench.scratch.path)/juicefs.db"
      let format = try bench.serve(
        bin + "/juicefs", ["format", meta, "bkt", "--storage", "file", "--bucket", folder + "/"])
      guard try await format.wait().status == 0 else { throw TestFault("juicefs: \(format.errors)") }
      process = try bench.serve(
        bin + "/juicefs",
        [
          "gateway", "--no-usage-report", "--keep-etag", "--cache-dir", "memory", meta, "127.0.0.1:\(port)",
        ], environment: ["MINIO_ROOT_USER": Self.id, "MINIO_ROOT_PASSWORD": Self.secret])
    case .rclone:
      try FileManager.default.createDirectory(
        atPath: folder + "/bkt", withIntermediateDirectories: true)
      process = try bench.serve(
        bin + "/rclone",
        ["serve", "s3", "--auth-key", "\(Self.id),\(Self.secret)", "--addr", "127.0.0.1:\(port)", folder])
    case .swift: process = try await Self.swift(bench, folder, bin, port: port)
    }
    try await Loopback.ready(process, port: port)
  }

  private static let identities = """
    {"identities": [{"name": "test", "credentials": [{"accessKey": "\(id)", "secretKey": "\(secret)"}],
      "actions": ["Admin", "Read", "Write", "List", "Tagging"]}]}
    """

  /// An endpoint in a manifest; `more` are further keys.
  package func endpoint(
    _ more: String = "", through proxy: StoreProxy? = nil, bucket: String = "bkt",
    auth: String = "{ aws: { env: true } }"
  ) -> String {
    "{ type: s3, url: \(quoted(proxy?.url ?? url)), bucket: \(bucket), auth: \(auth)\(more.isEmpty ? "" : ", " + more) }"
  }

  /// Runs Python with `s3`, a boto3 client of it that adds no checksums of its own.
  package func boto(_ script: String, _ arguments: [String] = []) async throws -> String {
    try await Venv.run(Self.client(url) + script, arguments, environment: Self.environment)
  }

  static func client(_ url: String) -> String {
    """
    import boto3, hashlib, json, os, sys, time
    from botocore.config import Config
    s3 = boto3.client('s3', endpoint_url=\(quoted(url)), config=Config(s3={'addressing_style': 'path'},
        signature_version='s3v4', retries={'max_attempts': 1}, request_checksum_calculation='when_required', response_checksum_validation='when_required'))

    """
  }

  /// SHA-256 of every object below a prefix, by key, as boto3 reads them.
  package func sums(_ prefix: String) async throws -> [String: String] {
    let text = try await boto(
      """
      sums = {}
      for page in s3.get_paginator('list_objects_v2').paginate(Bucket='bkt', Prefix=sys.argv[1]):
          for item in page.get('Contents', []):
              if item['Key'].endswith('/'): continue
              sums[item['Key']] = hashlib.sha256(s3.get_object(Bucket='bkt', Key=item['Key'])['Body'].read()).hexdigest()
      print(json.dumps(sums))
      """, [prefix])
    guard case .object(let members) = try JSON.parse(text) else { throw TestFault("no sums: \(text)") }
    return members.compactMapValues(\.string)
  }

  /// Makes the bucket where its start did not; a server that has only just come up may need some tries.
  func settle() async throws {
    _ = try await boto(
      """
      for _ in range(600):
          try:
              if 'bkt' not in [b['Name'] for b in s3.list_buckets()['Buckets']]: s3.create_bucket(Bucket='bkt')
              s3.put_object(Bucket='bkt', Key='settled', Body=b'x')
              break
          except Exception as e: last = e; time.sleep(0.1)
      else: raise last
      """)
  }
}

/// Starts all stores for a suite, once.
package struct Stores: SuiteTrait, TestScoping {
  package let isRecursive = false

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
  ) async throws {
    let bench = try Bench()
    let stores = try await withThrowingTaskGroup(of: Store.self) { group in
      for make in Store.Make.allCases {
        group.addTask {
          let store = try await Store.start(make, bench)
          try await store.settle()
          return store
        }
      }
      return try await group.reduce(into: [:]) { $0[$1.make] = $1 }
    }
    try await Store.$running.withValue(stores) { try await body() }
  }
}

extension Trait where Self == Stores {
  /// All S3 servers run while the suite does.
  package static var stores: Stores { Stores() }
}
