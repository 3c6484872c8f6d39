package import JobModel
package import ManifestFields

/// One kind of endpoint: all that haul knows of it. A value has what the manifest says under the kind's own keys.
///
/// Nothing outside a kind's folder knows its word: `EndpointRegistry.all` makes it known.
package protocol EndpointDriver: Sendable {
  /// `type` in the manifest, `protocol` in reports.
  static var word: String { get }
  static var abilities: EndpointAbilities { get }
  /// The schemes that an endpoint's URL may have.
  static var schemes: URLRule.Schemes { get }
  /// The keys that only this kind has.
  static var keys: KeyTable<Self> { get }
  /// What to write for a word that others have for this kind; nil for other words.
  static func hint(for word: String) -> String?
  /// With each key left out.
  init()

  /// Notes that the manifest's URL ends in a slash, which `Endpoint.url` is without: only where requests go to the URL itself
  /// does it make a difference.
  mutating func noteTrailingSlash()
  /// - Throws: why an endpoint of this kind can't have this URL.
  static func check(url: String) throws(ValueFault)
  /// - Throws: why a transfer can't have this path on an endpoint.
  func check(path: String, _ direction: Direction) throws(ValueFault)

  /// What tells the endpoint's store from others besides kind and URL: progress belongs to it. A value never changes
  /// for the same store: plans are known again by it. There is no default, so that no kind forgets it.
  func identity(_ direction: Direction, at url: String) -> [String]
  /// The bucket, of kinds whose service has several: an inventory is of one of them.
  var bucketName: String? { get }
  /// What haul 0.1 knew of it, frozen: for its plans.
  var firstIdentity: [String] { get }

  /// The URL that paths lie below, on record with a plan.
  func root(at url: String) -> String
  /// What is on record besides that, so that reports need no manifest; no secret.
  func record(at url: String) -> [String: String]
  /// Whether what is on record describes the same store as this value.
  func isRecorded(by record: [String: String], at url: String) -> Bool
  /// The driver of the store that is on record, as far as the record tells; with this endpoint's credentials.
  func recorded(by record: [String: String]) -> Self
  /// Whether another host than the endpoint's belongs to the same service, and may have its credentials.
  static func isHost(_ host: String, of service: String) -> Bool

  /// Headers of every request, a secret among them.
  var headers: [HeaderSetting] { get }
  /// What signs requests with keys (`auth: aws`); nil where that is not the kind's way.
  var signer: (any RequestSigner)? { get }

  /// - Throws: where the path can't be downloaded.
  func download(_ path: String, at url: WebURL) throws(Failure) -> any DownloadProtocol
  /// - Throws: where the path can't be uploaded to.
  func upload(_ path: String, at url: WebURL) throws(Failure) -> any UploadProtocol
  /// - Throws: where the kind has no listings.
  func listing(at url: WebURL) throws(Failure) -> any ListingProtocol

  /// A copy that the service makes by itself, of another of its objects: its chunks name bytes of `UploadSource.copies`
  /// and carry none. Nil where it makes none. Both endpoints have one URL and one credential.
  func serviceCopy(
    of source: String, on other: any EndpointDriver, to path: String, at url: WebURL
  ) -> (any UploadProtocol)?

  /// The same three as the engine asks for them: a kind that does not speak HTTP gives its own here.
  func downloadAccess(_ path: String, at url: WebURL) throws(Failure) -> DownloadAccess
  func uploadAccess(_ path: String, at url: WebURL) throws(Failure) -> UploadAccess
  func listingAccess(at url: WebURL) throws(Failure) -> ListingAccess
}

extension EndpointDriver {
  package static var schemes: URLRule.Schemes { .web }
  package static func hint(for word: String) -> String? { nil }
  package mutating func noteTrailingSlash() {}
  package static func check(url: String) throws(ValueFault) {}
  package func check(path: String, _ direction: Direction) throws(ValueFault) {}

  package var bucketName: String? { nil }
  package var firstIdentity: [String] { [] }
  package func root(at url: String) -> String { url }
  package func record(at url: String) -> [String: String] { [:] }
  package func isRecorded(by record: [String: String], at url: String) -> Bool {
    record == self.record(at: url)
  }
  package func recorded(by record: [String: String]) -> Self { Self() }
  package static func isHost(_ host: String, of service: String) -> Bool { host == service }

  package var headers: [HeaderSetting] { [] }
  package var signer: (any RequestSigner)? { nil }

  package func download(_ path: String, at url: WebURL) throws(Failure) -> any DownloadProtocol {
    throw Failure(.protocolViolation, "endpoints of type `\(word)` give no downloads")
  }
  package func upload(_ path: String, at url: WebURL) throws(Failure) -> any UploadProtocol {
    throw Failure(.protocolViolation, "endpoints of type `\(word)` take no uploads")
  }
  package func listing(at url: WebURL) throws(Failure) -> any ListingProtocol {
    throw Failure(.protocolViolation, "endpoints of type `\(word)` can't be listed")
  }

  package func serviceCopy(
    of source: String, on other: any EndpointDriver, to path: String, at url: WebURL
  ) -> (any UploadProtocol)? { nil }

  package func downloadAccess(_ path: String, at url: WebURL) throws(Failure) -> DownloadAccess {
    .http(try download(path, at: url))
  }
  package func uploadAccess(_ path: String, at url: WebURL) throws(Failure) -> UploadAccess {
    .http(try upload(path, at: url))
  }
  package func listingAccess(at url: WebURL) throws(Failure) -> ListingAccess {
    .http(try listing(at: url))
  }
}

extension EndpointDriver {
  package var word: String { Self.word }
  package var abilities: EndpointAbilities { Self.abilities }

  /// Why nothing can be moved in this direction, or not from or to this path; nil where it can.
  ///
  /// - Parameter path: nil where it is not known yet.
  package func objection(to path: String?, _ direction: Direction) -> ValueFault? {
    if let hint = abilities.refused[direction] {
      let what = direction == .upload ? "take no uploads" : "give no downloads"
      return ValueFault("\(word) endpoints \(what)", hint: hint)
    }
    guard let path else { return nil }
    do throws(ValueFault) {
      try check(path: path, direction)
      return nil
    } catch {
      return error
    }
  }
}
