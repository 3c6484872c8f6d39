import Digests

/// `x-amz-content-sha256` of bodies that are in memory.
enum S3Payload {
  /// Of no body at all.
  static let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

  static func digest(_ body: [UInt8]) -> String {
    (try? Digest.hex(of: body, .sha256)) ?? SigV4.unsignedPayload
  }
}
