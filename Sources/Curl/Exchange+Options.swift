import CCurl

extension Exchange {
  /// Of received bytes, in a handle's buffer: as large as pays, and smaller where many share what all may take.
  private static let receiveBuffer = 128 * 1024
  private static let smallestReceiveBuffer = 16 * 1024
  private static let allReceiveBuffers = 4 << 20
  private static let largestSendBuffer: Int64 = 256 * 1024
  private static let smallestSendBuffer: Int64 = 16 * 1024

  /// Writes the request into a fresh handle.
  ///
  /// - Parameter live: requests under way, this one among them.
  func configure(_ easy: EasyHandle, live: Int) throws(CurlError) {
    self.easy = easy
    try easy.set(CURLOPT_URL, request.url)
    try easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
    // Signed paths must arrive as they were signed.
    try easy.set(CURLOPT_PATH_AS_IS, true)
    try easy.set(CURLOPT_NOSIGNAL, true)
    try easy.set(CURLOPT_TCP_KEEPALIVE, true)
    let share = max(Self.smallestReceiveBuffer, Self.allReceiveBuffers / live)
    let step = request.options.receiveStep ?? Self.receiveBuffer
    try easy.set(CURLOPT_BUFFERSIZE, min(Self.receiveBuffer, share, max(1024, step)))
    try easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, true)
    try easy.set(CURLOPT_PRIVATE, context)
    try easy.set(CURLOPT_HEADERFUNCTION, Self.onHeader)
    try easy.set(CURLOPT_HEADERDATA, context)
    try easy.set(CURLOPT_WRITEFUNCTION, Self.onBody)
    try easy.set(CURLOPT_WRITEDATA, context)
    try easy.check(haul_curl_set_prereq(easy.pointer, Self.onReady))
    try easy.set(CURLOPT_PREREQDATA, context)
    try configureMethod(easy)
    try easy.setHeaders(try headerLines())
    try configureConnection(easy, request.options)
    try configureTLS(easy, request.options)
  }

  private func configureMethod(_ easy: EasyHandle) throws(CurlError) {
    guard source != nil else {
      try easy.set(CURLOPT_NOBODY, request.method == "HEAD")
      if request.method != "HEAD" {
        try easy.set(CURLOPT_HTTPGET, true)
        if request.method != "GET" { try easy.set(CURLOPT_CUSTOMREQUEST, request.method) }
      }
      return
    }
    try easy.set(CURLOPT_UPLOAD, true)
    try easy.set(CURLOPT_CUSTOMREQUEST, request.method)
    try easy.set(offset: CURLOPT_INFILESIZE_LARGE, bodyLength)
    let buffer = min(max(bodyLength, Self.smallestSendBuffer), Self.largestSendBuffer)
    try easy.set(CURLOPT_UPLOAD_BUFFERSIZE, Int(buffer))
    try easy.set(CURLOPT_READFUNCTION, Self.onRead)
    try easy.set(CURLOPT_READDATA, context)
    try easy.check(haul_curl_set_seek(easy.pointer, Self.onSeek))
    try easy.set(CURLOPT_SEEKDATA, context)
    try easy.check(haul_curl_set_progress(easy.pointer, Self.onProgress))
    try easy.set(CURLOPT_XFERINFODATA, context)
    try easy.set(CURLOPT_NOPROGRESS, false)
  }

  /// libcurl's spelling: `Name;` sends an empty value, `Name:` keeps libcurl from sending its own.
  private func headerLines() throws(CurlError) -> [String] {
    let expects = request.headers.contains { $0.0.utf8.count == 6 && $0.0.lowercased() == "expect" }
    var lines: [String] = []
    for (name, value) in request.headers {
      let isSafe =
        !name.isEmpty && ![name, value].contains { $0.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 } }
      guard isSafe, !name.utf8.contains(UInt8(ascii: ":")) else {
        throw CurlError(
          kind: .badRequest, message: "the header \(name.debugDescription) holds what a header cannot carry")
      }
      lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
    }
    // Written by libcurl itself where it is wanted: only so does it send again without it after a 417.
    if !expects, source != nil, !request.options.expectContinue { lines.append("Expect:") }
    return lines
  }

  private func configureConnection(_ easy: EasyHandle, _ options: CurlOptions) throws(CurlError) {
    try easy.set(CURLOPT_CONNECTTIMEOUT_MS, Int((options.connectTimeout * 1000).rounded(.up)))
    // Empty texts keep libcurl from asking the environment.
    try easy.set(CURLOPT_PROXY, options.proxy ?? "")
    try easy.set(CURLOPT_NOPROXY, "")
    switch options.ipFamily {
    case .any: break
    case .v4: try easy.set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V4))
    case .v6: try easy.set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V6))
    }
    if options.receiveBuffer != nil || options.segmentSize != nil {
      try easy.check(haul_curl_set_sockopt(easy.pointer, Self.onSocket))
      try easy.set(CURLOPT_SOCKOPTDATA, context)
    }
    // Not CURLOPT_INTERFACE: refused, it would take the source's address for enough.
    try easy.check(haul_curl_set_open(easy.pointer, Self.onOpen))
    try easy.set(CURLOPT_OPENSOCKETDATA, context)
    if !mayShareConnection {
      try easy.set(CURLOPT_FRESH_CONNECT, true)
      try easy.set(CURLOPT_FORBID_REUSE, true)
    }
    try easy.set(CURLOPT_USERAGENT, options.userAgent)
    switch options.httpVersion {
    case .http1: try easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    case .http2: try easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
    }
  }

  private func configureTLS(_ easy: EasyHandle, _ options: CurlOptions) throws(CurlError) {
    guard request.url.prefix(6).lowercased() == "https:" || options.proxy != nil else { return }
    switch options.minimumTLS {
    case .tls12: try easy.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    case .tls13: try easy.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_3))
    }
    try easy.set(CURLOPT_CAINFO, options.caFile)
    try easy.set(CURLOPT_SSLCERT, options.clientCertificate)
    try easy.set(CURLOPT_SSLKEY, options.clientKey)
    if !options.pinnedKeys.isEmpty {
      try easy.set(CURLOPT_PINNEDPUBLICKEY, options.pinnedKeys.joined(separator: ";"))
    }
    if options.insecure {
      try easy.set(CURLOPT_SSL_VERIFYPEER, false)
      try easy.set(CURLOPT_SSL_VERIFYHOST, 0)
    }
  }
}
