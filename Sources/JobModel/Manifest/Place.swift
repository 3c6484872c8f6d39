/// Where the bytes of a transfer are or go: a local path, a path on a declared endpoint, or an absolute URL.
package enum Place: Sendable, Hashable {
  /// A path as written, relative to the manifest's folder unless absolute.
  case local(String)
  /// `NAME:PATH`; the path is literal text, not yet encoded.
  case remote(endpoint: String, path: String)
  /// An absolute http(s) URL, sent as written; its query may be a secret.
  case url(String)

  /// By bytes: two ways to write one character are two names.
  package static func == (one: Place, other: Place) -> Bool {
    switch (one, other) {
    case (.local(let one), .local(let other)), (.url(let one), .url(let other)):
      ByteText(one) == ByteText(other)
    case (.remote(let endpoint, let path), .remote(let otherEndpoint, let otherPath)):
      endpoint == otherEndpoint && ByteText(path) == ByteText(otherPath)
    case (.local, _), (.remote, _), (.url, _): false
    }
  }

  /// Another path, whatever its endpoint is called now, and whatever a URL's query says: that may be a signature.
  package func isElsewhere(than other: Place) -> Bool {
    switch (self, other) {
    case (.remote(_, let path), .remote(_, let otherPath)): ByteText(path) != ByteText(otherPath)
    case (.url(let url), .url(let otherURL)):
      !url.utf8.prefix { $0 != 0x3F }.elementsEqual(otherURL.utf8.prefix { $0 != 0x3F })
    case (.local, _), (.remote, _), (.url, _): self != other
    }
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(ByteText(text)) }

  package var isLocal: Bool {
    switch self {
    case .local: true
    case .remote, .url: false
    }
  }

  /// The place as a manifest writes it. A URL keeps its query: mask it before it is shown.
  package var text: String {
    switch self {
    case .local(let path): Place.endpointName(path) == nil ? path : "./" + path
    case .remote(let endpoint, let path): "\(endpoint):\(path)"
    case .url(let url): url
    }
  }

  /// Reads what `text` writes: `NAME:PATH`, an http(s) URL, else a path (`./a:b` is a path).
  package init(_ text: String) {
    if URLRule.schemeLength(text) != nil {
      self = .url(text)
    } else if let name = Place.endpointName(text) {
      self = .remote(endpoint: name, path: String(Substring(text.utf8.dropFirst(name.utf8.count + 1))))
    } else {
      self = .local(text)
    }
  }

  private static func endpointName(_ text: String) -> String? {
    let name = text.utf8.prefix { byte in
      (97...122).contains(byte) || (48...57).contains(byte) || byte == 95 || byte == 45
    }
    guard !name.isEmpty, name.endIndex < text.utf8.endIndex, text.utf8[name.endIndex] == UInt8(ascii: ":")
    else { return nil }
    return String(Substring(name))
  }
}

extension Place {
  /// A local path as it is written; nil for a remote place.
  package var localPath: String? {
    switch self {
    case .local(let path): path
    case .remote, .url: nil
    }
  }
}
