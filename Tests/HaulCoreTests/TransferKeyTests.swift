import Digests
import Endpoints
import JobLedger
import JobManifest
import JobModel
import Planner
import Testing
import TestSupport
import Transfers

@testable import HaulCore

/// Plans on disk hold these keys: a value that changes sends everything again.
struct TransferKeyTests {
  private static let manifest = """
    version: 1
    job: keys
    endpoints:
      web: { type: http, url: "https://example.com/files" }
      store: { type: s3, url: "https://s3.example.com", bucket: box, region: us-east-1, auth: { aws: { profile: p } } }
      kii: { type: kii, url: "https://kii.example.com/api", app_id: app, bucket: box, app_key: { env: KEY } }
    transfers:
      - { id: web, download: "web:a/1.bin", to: in/1.bin }
      - { id: url, download: "https://example.com/2.bin?sig=x", to: in/2.bin }
      - { id: s3, upload: up.bin, to: "store:b/3.bin" }
      - { id: kii, upload: up.bin, to: "kii:4" }
      - { id: put, upload: up.bin, to: "https://example.com/5.bin?sig=y" }

    """

  private func keys(_ form: StoreIdentity.Form) throws -> [String: String] {
    let fixture = try CoreFixture()
    let read = try fixture.manifest(Self.manifest).read(overrides: [:])
    let job = try #require(read.job, "\(read.diagnostics)")
    let key = try TransferKey(job, form)
    var found: [String: String] = [:]
    _ = try JobPlanner.expand(job, run: RunValues(id: "R", startedAt: 1_767_225_600), uuid: { $0 }) {
      found[$0.id] = Hex.encode(key.of($0))
    }
    return found
  }

  @Test func currentValuesNeverChange() throws {
    #expect(
      try keys(.current) == [
        "web": "510e799085e93468", "url": "6103fc3042ed6cf7", "s3": "2e65c3231281dfbd",
        "kii": "1e2f02eec5348f74", "put": "90760bc40e325ff3",
      ])
  }

  @Test func valuesOfHaul01NeverChange() throws {
    #expect(
      try keys(.first) == [
        "web": "510e799085e93468", "url": "6103fc3042ed6cf7", "s3": "2e65c3231281dfbd",
        "kii": "145e23e588690877", "put": "90760bc40e325ff3",
      ])
  }
}
