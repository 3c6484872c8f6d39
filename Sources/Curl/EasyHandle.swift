import CCurl

/// A libcurl easy handle with its error text; frees itself.
final class EasyHandle {
  let pointer: UnsafeMutableRawPointer
  private let errorText: UnsafeMutablePointer<CChar>
  private var headers: UnsafeMutablePointer<curl_slist>?

  init() throws(CurlError) {
    guard let pointer = curl_easy_init() else { throw CurlError(CURLE_FAILED_INIT) }
    self.pointer = pointer
    errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    haul_curl_set_pointer(pointer, CURLOPT_ERRORBUFFER, errorText)
  }

  deinit {
    curl_easy_cleanup(pointer)
    curl_slist_free_all(headers)
    errorText.deallocate()
  }

  /// What libcurl said about the last fault; empty where it said nothing.
  var lastError: String { String(cString: errorText) }

  func set(_ option: CURLoption, _ value: Int) throws(CurlError) {
    try check(haul_curl_set_long(pointer, option, value))
  }

  func set(_ option: CURLoption, _ value: Bool) throws(CurlError) {
    try set(option, value ? 1 : 0)
  }

  func set(offset option: CURLoption, _ value: Int64) throws(CurlError) {
    try check(haul_curl_set_offset(pointer, option, curl_off_t(value)))
  }

  /// Nil leaves libcurl's default.
  func set(_ option: CURLoption, _ value: String?) throws(CurlError) {
    guard let value else { return }
    try check(haul_curl_set_string(pointer, option, value))
  }

  func set(_ option: CURLoption, _ value: UnsafeMutableRawPointer) throws(CurlError) {
    try check(haul_curl_set_pointer(pointer, option, value))
  }

  func set(_ option: CURLoption, _ value: haul_curl_data) throws(CurlError) {
    try check(haul_curl_set_data(pointer, option, value))
  }

  func setHeaders(_ lines: [String]) throws(CurlError) {
    for line in lines {
      guard let longer = curl_slist_append(headers, line) else { throw CurlError(CURLE_OUT_OF_MEMORY) }
      headers = longer
    }
    try check(haul_curl_set_list(pointer, CURLOPT_HTTPHEADER, headers))
  }

  func check(_ code: CURLcode) throws(CurlError) {
    guard code == CURLE_OK else { throw CurlError(code, text: lastError) }
  }

  func long(_ info: CURLINFO) -> Int {
    var value = 0
    haul_curl_get_long(pointer, info, &value)
    return value
  }

  func offset(_ info: CURLINFO) -> Int64 {
    var value: curl_off_t = 0
    haul_curl_get_offset(pointer, info, &value)
    return Int64(value)
  }
}
