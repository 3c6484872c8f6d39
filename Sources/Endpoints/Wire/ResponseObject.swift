import JobModel

extension Response {
  /// The body as a JSON object; nil where it is none.
  var object: JSON? { JSON(body).flatMap { $0.members == nil ? nil : $0 } }
}
