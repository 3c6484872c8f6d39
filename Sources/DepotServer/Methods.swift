import HTTPTypes

/// Refuses methods that a resource doesn't have, naming those it has.
enum Methods {
  static func require(_ method: HTTPRequest.Method, _ allowed: [HTTPRequest.Method]) throws {
    guard !allowed.contains(method) else { return }
    let list = allowed.map(\.rawValue).joined(separator: ", ")
    var problem = Problem(405, "METHOD_NOT_ALLOWED", "only \(list) work here")
    problem.headers[.allow] = list
    throw problem
  }
}
