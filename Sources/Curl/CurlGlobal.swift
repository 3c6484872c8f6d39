import CCurl

/// libcurl's process-wide state, started once.
enum CurlGlobal {
  static let start = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
}
