import HTTPTypes

extension HTTPField.Name {
  static let reprDigest = name("Repr-Digest")
  static let wantReprDigest = name("Want-Repr-Digest")
  static let contentDigest = name("Content-Digest")
  static let wantContentDigest = name("Want-Content-Digest")
  static let idempotencyKey = name("Idempotency-Key")
  static let chunkHash = name("X-Chunk-Hash")

  private static func name(_ text: String) -> HTTPField.Name {
    guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is not a header's name") }
    return name
  }
}
