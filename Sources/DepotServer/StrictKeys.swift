/// Refuses keys that nothing reads: a misspelt fault would silently never happen.
enum StrictKeys {
  private struct AnyKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  static func check(_ decoder: any Decoder, known: [String]) throws {
    let box = try decoder.container(keyedBy: AnyKey.self)
    for key in box.allKeys where !known.contains(key.stringValue) {
      let reason = "unknown key \(key.stringValue); known: \(known.joined(separator: ", "))"
      throw DecodingError.dataCorruptedError(forKey: key, in: box, debugDescription: reason)
    }
  }
}
