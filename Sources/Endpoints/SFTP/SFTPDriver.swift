package import JobModel
package import ManifestFields

/// Endpoints of type `sftp`: files of SSH servers.
package struct SFTPDriver: EndpointDriver {
  package var trust = SFTPTrust()

  package init() {}

  package static let word = "sftp"
  package static let abilities = EndpointAbilities(
    lists: true, readsBack: true, tells: [.mtime, .mode], keeps: [.mtime, .mode],
    times: SFTPAttributes.times, joinsSlashes: true)
  package static let schemes = URLRule.Schemes.sftp
  package static let keys: KeyTable<Self> = [
    .file("known_hosts", \.trust.knownHosts).described(
      "The host keys that are known; the user's `~/.ssh/known_hosts` by default"),
    .parsed("host_key", \.trust.hostKey, schema: KeySchema.matching(SFTPTrust.form), SFTPTrust.fingerprint)
      .described("The host key's SHA-256 as ssh-keygen prints it, in place of `known_hosts`"),
  ]

  package static func hint(for word: String) -> String? {
    switch word {
    case "ssh", "scp", "sshfs": "write `sftp`"
    case "ftp", "ftps": "haul does not speak FTP; many of its servers speak SFTP too: write `sftp`"
    default: nil
    }
  }

  /// Uploads make folders, rename and delete: a path that leaves the endpoint's URL would do so elsewhere.
  package func check(path: String, _ direction: Direction) throws(ValueFault) {
    let names = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    if names.contains(where: { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }) {
      throw ValueFault(
        "`\(path)` has a folder `.` or `..`", hint: "write the path below the endpoint's `url`")
    }
    if path.utf8.contains(0) { throw ValueFault("a file's name can't hold a NUL") }
    if path.utf8.first == UInt8(ascii: "/") {
      throw ValueFault(
        "`\(path)` begins with `/`", hint: "write the path below the endpoint's `url`, without the first `/`")
    }
  }

  /// The URL says it all: how the server is proved does not make it another.
  package func identity(_ direction: Direction, at url: String) -> [String] { [] }

  package func downloadAccess(_ path: String, at url: WebURL) -> DownloadAccess {
    .direct(SFTPDownload(path, at: url, trust))
  }
  package func uploadAccess(_ path: String, at url: WebURL) -> UploadAccess {
    .direct(SFTPUpload(path, at: url, trust))
  }
  package func listingAccess(at url: WebURL) -> ListingAccess { .direct(SFTPListing(at: url, trust)) }
}

/// What an SSH server has to prove.
package struct SFTPTrust: Sendable, Hashable {
  /// Absolute; nil for the user's own.
  package var knownHosts: String?
  /// `SHA256:` and base64 without padding.
  package var hostKey: String?

  package init() {}

  static let form = #"^SHA256:[A-Za-z0-9+/]{43}=?$"#

  static func fingerprint(_ text: String) throws(ValueFault) -> String {
    let prefix = "SHA256:"
    let digits = text.utf8.dropFirst(prefix.utf8.count).prefix { $0 != UInt8(ascii: "=") }
    guard text.hasPrefix(prefix), digits.count == 43, text.utf8.count - prefix.utf8.count <= 44,
      Base64.decode(String(decoding: digits, as: UTF8.self) + "=")?.count == 32
    else {
      throw ValueFault(
        "`\(text)` is not the fingerprint of a host key",
        hint: "like `SHA256:` and 43 characters, as `ssh-keygen -lf KEY.pub` prints it")
    }
    return prefix + String(decoding: digits, as: UTF8.self)
  }
}
