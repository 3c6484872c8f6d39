import Foundation
import TestSupport
import Testing

/// A secret that is not there ends the run before its first transfer: one line a reference.
@Suite(.turns)
struct MissingSecretsTests {
  private static let yaml = """
    version: 1
    job: secrets
    endpoints:
      one: { type: http, url: "http://127.0.0.1:1", auth: { bearer: { env: TOKEN } } }
      two: { type: http, url: "http://127.0.0.1:1", headers: { X-Key: { file: key.txt } } }
      spare: { type: http, url: "http://127.0.0.1:1", auth: { bearer: { env: SPARE } } }
      asks: { type: http, url: "http://127.0.0.1:1", auth: { bearer: { command: ["false"] } } }
    policies: { quick: { retry: { attempts: 1 } } }
    defaults: { policy: quick }
    transfers:
      - { id: a, download: "one:a", to: a }
      - { id: b, download: "one:b", to: b }
      - { id: c, download: "two:c", to: c }
      - { id: d, download: "asks:d", to: d }
      - { id: off, download: "spare:e", to: e, enabled: false }
      - { id: own, download: "http://127.0.0.1:1/f", to: f, headers: { X-Key: { env: OWN } } }
    """

  private func places(_ run: HaulRun) -> [String] {
    run.errors.split(separator: "\n").filter { $0.hasPrefix("job.yaml:") }.map(String.init)
  }

  @Test func eachReferenceOnce() async throws {
    let bench = try Bench()
    let run = try await bench.run(Self.yaml, environment: ["TOKEN": ""])
    #expect(run.status == 66 && run.outcome == "failed" && run.faults == "", "\(run.errors)")
    #expect(
      places(run) == [
        "job.yaml:4:67: error: the environment variable `TOKEN` is set, but empty",
        "job.yaml:5:69: error: the secret file `\(bench.job.replacing("//", with: "/"))/key.txt` does not exist",
        "job.yaml:16:77: error: the environment variable `OWN` is not set",
      ], "\(run.errors)")
    #expect(run.report["run"]["number"].isNull && run.report["diagnostics"].array.count == 3)
    #expect(run.errors.split(separator: "\n").count == 5, "\(run.errors)")
  }

  @Test func onlyWhatTheRunCanUse() async throws {
    let bench = try Bench()
    let scoped = try await bench.run(Self.yaml, ["--only", "d"])
    #expect(scoped.state("d") == "paused retries SECRET_UNAVAILABLE", "\(scoped.errors)")
    let key = try bench.scratch.write("job/key.txt", "k")
    #expect(chmod(key, 0o600) == 0)
    let one = try await bench.run(nil, environment: ["OWN": "x"])
    #expect(one.status == 66, "\(one.errors)")
    #expect(places(one) == ["job.yaml:4:67: error: the environment variable `TOKEN` is not set"])
    // What is there is used.
    let all = try await bench.run(nil, environment: ["OWN": "x", "TOKEN": "y"])
    #expect(all.state("a") == "paused retries NETWORK_UNREACHABLE", "\(all.errors)")
  }

  @Test func beforeAListing() async throws {
    let bench = try Bench()
    let run = try await bench.run(
      """
      version: 1
      job: lists
      endpoints:
        s3:
          type: s3
          url: "http://127.0.0.1:1"
          bucket: b
          auth: { aws: { access_key_id: A, secret_access_key: { env: KEY } } }
      transfers: [{ id: all, download: "s3:in/", to: in/ }]
      """)
    #expect(run.status == 66 && run.faults == "", "\(run.errors)")
    #expect(places(run) == ["job.yaml:8:59: error: the environment variable `KEY` is not set"])
    let keys = try await bench.run(
      """
      version: 1
      job: keys
      endpoints: { s3: { type: s3, url: "http://127.0.0.1:1", bucket: b, auth: { aws: { env: true } } } }
      transfers: [{ id: all, download: "s3:in", to: in }]
      """)
    #expect(keys.status == 66 && keys.errors.contains("AWS_ACCESS_KEY_ID"), "\(keys.errors)")
  }
}
