import Foundation

extension Answer {
  /// The body as a JSON object; nil where it is none.
  var object: [String: Any]? { try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any] }
}
