/// The keys of an `s3` endpoint.
package struct S3Settings: Sendable, Hashable {
  package enum Addressing: String, Sendable, Hashable, CaseIterable { case auto, path, virtual }
  package enum Checksum: String, Sendable, Hashable, CaseIterable { case crc64nvme, sha256, none }
  package var region = "us-east-1"
  package var bucket = ""
  package var addressing = Addressing.auto
  package var checksum = Checksum.crc64nvme
  package var multipartThreshold: Int64 = 16 << 20
  package var storageClass: String?
  package var acl: String?
  package var cacheControl: String?
  package var tags: [String: String] = [:]
  package var serverSideEncryption: String?
  package var metadata: [String: String] = [:]
  package init() {}
}
