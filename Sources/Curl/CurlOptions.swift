/// How a request's connection is made and watched. Durations are in seconds.
package struct CurlOptions: Sendable {
  /// For the name's resolution, the connection and TLS together.
  package var connectTimeout: Double = 30
  /// From the request sent to the first byte of its answer's body, interim answers included; nil waits for ever.
  package var firstByteTimeout: Double? = 60
  /// How long fewer than `stallBytesPerSecond` may move; pauses of ours do not count. Nil waits for ever.
  package var stallTimeout: Double? = 60
  package var stallBytesPerSecond: Int64 = 1024
  /// The proxy's URL; nil connects to the host itself. The environment is not asked.
  package var proxy: String?
  package var ipFamily = IPFamily.any
  /// The interface that every socket is bound to, so that nothing leaves by another; where that can't be done, the
  /// request fails with `.interfaceUnavailable`.
  package var interface: String?
  /// Judges each address that a connection would be made to.
  package var admission: CurlAdmission?
  package var minimumTLS = MinimumTLS.tls12
  /// PEM files.
  package var caFile: String?
  package var clientCertificate: String?
  package var clientKey: String?
  /// `sha256//` and the base64 of a public key's digest; one of them must be the server's. Empty: any.
  package var pinnedKeys: [String] = []
  /// Accepts any certificate; pinned keys still hold.
  package var insecure = false
  package var userAgent: String?
  package var httpVersion = HTTPVersion.http1
  /// Ask whether a body beyond 1 MiB is wanted before it is sent (RFC 9110, 10.1.1); waits a second at most.
  package var expectContinue = false
  /// Bytes that are read from the socket at once, 1 KiB at least; nil for what is fastest.
  package var receiveStep: Int?
  /// Bytes of the socket's receive buffer, where a new connection is made; nil for the kernel's choice.
  package var receiveBuffer: Int?
  /// Bytes of TCP segments, likewise.
  package var segmentSize: Int?

  package init() {}

  /// What decides where a connection may lead: one that was made under another way is never used again.
  struct Way: Hashable {
    let interface: String?
    let ipFamily: IPFamily
    let rule: [String]?
  }
  var way: Way { Way(interface: interface, ipFamily: ipFamily, rule: admission?.rule) }

  package enum IPFamily: Sendable, Hashable {
    case any, v4, v6
  }

  package enum MinimumTLS: Sendable, Hashable {
    case tls12, tls13
  }

  /// HTTP/1.1 is the safe one: libcurl 7.88.1 can report an aborted HTTP/2 body as complete. HTTP/2 is only asked
  /// for over TLS; a server may still choose 1.1.
  package enum HTTPVersion: Sendable, Hashable {
    case http1, http2
  }
}
