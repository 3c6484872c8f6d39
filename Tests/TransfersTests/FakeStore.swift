import Digests
import Endpoints
import JobModel
import Synchronization

/// Stores that speak S3, in memory: each host is one of its own. Objects keep what they were stored with.
final class FakeStore: Sendable {
  struct Object: Sendable {
    var bytes: [UInt8]
    /// Its type, and what begins with `x-amz-`.
    var headers: HeaderList
    var etag: String
    var version: String?

    var tags: [Substring] { (headers["x-amz-tagging"] ?? "").split(separator: "&") }
  }
  struct State {
    /// By `HOST/BUCKET/KEY`.
    var objects: [String: Object] = [:]
    /// By `HOST/BUCKET/KEY?VERSION`: of objects that have one, those before as well.
    var versions: [String: Object] = [:]
    var uploads: [String: (headers: HeaderList, parts: [Int: [UInt8]])] = [:]
    /// Multipart uploads that were opened, and ended without an object.
    var (opened, aborted) = (0, 0)
    /// No host takes tags.
    var refusesTags = false
    /// Objects are answered with where their tags are asked for.
    var knowsNoTags = false
    /// How many tags an object has is told with it.
    var countsTags = true
  }
  let state = Mutex(State())

  func put(_ name: String, _ bytes: [UInt8], _ headers: HeaderList = [:], version: String? = nil) {
    let object = Object(bytes: bytes, headers: headers, etag: Self.md5(bytes), version: version)
    state.withLock {
      $0.objects[name] = object
      if let version { $0.versions[name + "?" + version] = object }
    }
  }

  subscript(_ name: String) -> Object? { state.withLock { $0.objects[name] } }

  func response(_ sent: Sent) -> Reply {
    state.withLock { state in
      let query = Self.query(sent.url.query ?? "")
      let name = sent.url.host + sent.path
      let refuses = state.refusesTags && sent.headers["x-amz-tagging"] != nil
      switch (sent.method, query["uploadId"]) {
      case ("POST", nil) where refuses, ("PUT", nil) where refuses:
        return .status(501, [:], "<Error><Code>NotImplemented</Code></Error>")
      case ("POST", nil):
        state.opened += 1
        state.uploads["u\(state.opened)"] = (sent.headers, [:])
        return .status(200, [:], "<R><UploadId>u\(state.opened)</UploadId></R>")
      case ("PUT", nil):
        let object = Object(bytes: sent.body, headers: sent.headers, etag: Self.md5(sent.body))
        state.objects[name] = object
        return Reply(headers: Self.proof(object))
      case (_, nil):
        let object = query["versionId"].map { state.versions[name + "?" + $0] } ?? state.objects[name]
        let asksTags = query["tagging"] != nil && !state.knowsNoTags
        return Self.serve(object, sent, asksTags: asksTags, countsTags: state.countsTags)
      case (let method, let id?):
        guard let upload = state.uploads[id] else {
          return .status(404, [:], "<Error><Code>NoSuchUpload</Code></Error>")
        }
        return Self.work(on: upload, id, method, sent, name, query, &state)
      }
    }
  }

  private static func work(
    on upload: (headers: HeaderList, parts: [Int: [UInt8]]), _ id: String, _ method: String, _ sent: Sent,
    _ name: String, _ query: [String: String], _ state: inout State
  ) -> Reply {
    let parts = upload.parts.sorted { $0.key < $1.key }
    switch method {
    case "PUT":
      let part = Object(bytes: sent.body, headers: [:], etag: md5(sent.body))
      state.uploads[id]?.parts[query["partNumber"].flatMap { Int($0) } ?? 0] = sent.body
      return Reply(headers: proof(part))
    case "GET":
      let list = parts.map {
        "<Part><PartNumber>\($0.key)</PartNumber><ETag>\(md5($0.value))</ETag><Size>\($0.value.count)</Size></Part>"
      }
      return .status(200, [:], "<ListPartsResult>\(list.joined())</ListPartsResult>")
    case "POST":
      let sums = parts.flatMap { Hex.decode(md5($0.value)) ?? [] }
      let etag = "\(md5(sums))-\(parts.count)"
      let bytes: [UInt8] = parts.reduce(into: []) { $0 += $1.value }
      state.objects[name] = Object(bytes: bytes, headers: upload.headers, etag: etag)
      state.uploads[id] = nil
      return .status(200, [:], "<R><ETag>\(etag)</ETag></R>")
    default:
      state.uploads[id] = nil
      state.aborted += 1
      return .status(204)
    }
  }

  private static func serve(_ object: Object?, _ sent: Sent, asksTags: Bool, countsTags: Bool) -> Reply {
    guard let object else { return .status(404, [:], "<Error><Code>NoSuchKey</Code></Error>") }
    if asksTags {
      let tags = object.tags.map { $0.split(separator: "=") }.map {
        "<Tag><Key>\($0[0])</Key><Value>\($0[1])</Value></Tag>"
      }
      return .status(200, [:], "<Tagging><TagSet>\(tags.joined())</TagSet></Tagging>")
    }
    var headers: HeaderList = ["Accept-Ranges": "bytes"]
    for field in object.headers.fields
    where ["Content-Type", "Cache-Control"].contains(field.name) || field.name.hasPrefix("x-amz-meta-") {
      headers.append(field.name, field.value)
    }
    if let version = object.version { headers.append("x-amz-version-id", version) }
    if countsTags, !object.tags.isEmpty { headers.append("x-amz-tagging-count", "\(object.tags.count)") }
    let bounds = sent.headers["Range"]?.dropFirst(6).split(separator: "-").compactMap { Int($0) }
    guard let bounds, bounds.count == 2 else {
      for field in proof(object).fields { headers.append(field.name, field.value) }
      headers.append("Content-Length", "\(object.bytes.count)")
      return Reply(headers: headers, body: object.bytes)
    }
    let range = bounds[0]..<min(bounds[1] + 1, object.bytes.count)
    headers.append("ETag", "\"\(object.etag)\"")
    headers.append("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(object.bytes.count)")
    return Reply(status: 206, headers: headers, body: Array(object.bytes[range]))
  }

  /// What an answer says of all bytes of an object, or part.
  private static func proof(_ object: Object) -> HeaderList {
    let sum = (try? Digest.hex(of: object.bytes, .crc64nvme)).flatMap(Hex.decode) ?? []
    return [
      "ETag": "\"\(object.etag)\"", "x-amz-checksum-crc64nvme": Base64.encode(sum),
      "x-amz-checksum-type": "FULL_OBJECT",
    ]
  }

  private static func md5(_ bytes: [UInt8]) -> String { (try? Digest.hex(of: bytes, .md5)) ?? "" }

  private static func query(_ text: String) -> [String: String] {
    let pairs = text.split(separator: "&").map {
      $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    }
    return Dictionary(pairs.map { (String($0[0]), $0.count > 1 ? String($0[1]) : "") }) { $1 }
  }
}
