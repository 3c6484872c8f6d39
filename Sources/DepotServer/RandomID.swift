/// Unguessable names: 128 random bits from the system, in hexadecimal.
enum RandomID {
  static func make(prefix: String) -> String {
    var generator = SystemRandomNumberGenerator()
    let bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    return prefix + Hex.encode(bytes)
  }
}
