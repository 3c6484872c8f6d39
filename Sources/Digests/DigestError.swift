/// Why a digest cannot be computed on this system.
package enum DigestError: Error, Equatable, CustomStringConvertible {
  /// OpenSSL's configuration (a FIPS policy, say) does not offer the algorithm.
  case unavailable(DigestKind)

  package var description: String {
    switch self {
    case .unavailable(let kind):
      "this system's OpenSSL does not offer \(kind.rawValue); choose another digest, "
        + "or allow it in openssl.cnf"
    }
  }
}
