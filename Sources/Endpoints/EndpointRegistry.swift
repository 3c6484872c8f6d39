internal import JobModel
package import ManifestFields

/// The kinds of endpoint that haul knows.
package enum EndpointRegistry {
  package static let all: [any EndpointDriver.Type] = [
    HTTPDriver.self,
    SessionDriver.self,
    S3Driver.self,
    PresignedDriver.self,
    KiiDriver.self,
    SalesforceDriver.self,
    TusDriver.self,
    WebDAVDriver.self,
    SFTPDriver.self,
  ]

  /// Speaks for a URL that stands in place of a declared endpoint.
  package static let web: any EndpointDriver = HTTPDriver()

  package static let words = all.map { $0.word }

  /// The kinds whose requests are signed with keys, as a message names them.
  package static let signed = all.filter { $0.init().signer != nil }.map { "`\($0.word)`" }
    .joined(separator: ", ")

  package static func kind(_ word: String) -> (any EndpointDriver.Type)? { all.first { $0.word == word } }
}

extension EndpointDriver {
  package static var keyNames: [String] { keys.names }
  package static var requiredKeys: [String] { keys.required }

  /// What the kind's own keys say of each object, by their names.
  package static func objectWords(_ fields: Fields) -> [String: String] {
    keys.keys.filter(\.isOfObject).reduce(into: [:]) { $0.merge(fields.written($1.name)) { $1 } }
  }

  /// Reads the kind's own keys; what is wrong with them goes to the fields' faults.
  package static func read(_ fields: Fields) -> any EndpointDriver {
    var driver = Self()
    keys.read(fields, into: &driver)
    return driver
  }
}
