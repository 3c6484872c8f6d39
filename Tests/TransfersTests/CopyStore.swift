import Digests
import Endpoints
import Synchronization

/// A versioned S3 in memory, at `/b/KEY`: objects, copies that it makes by itself, uploads in parts.
final class CopyStore: Sendable {
  struct Object: Sendable {
    var bytes: [UInt8]
    var version: String
    /// By header, in base64.
    var checksums: [String: String] = [:]
    var etag: String { "\"e-\(version)\"" }
  }
  struct State {
    /// All versions of a key, the newest last.
    var objects: [String: [Object]] = [:]
    var uploads: [String: [Int: [UInt8]]] = [:]
    var opened = 0
    var stored = 0
    /// A copy has the source's checksum, and says so.
    var copiesChecksums = true
  }
  let state: Mutex<State>

  init(_ change: (inout State) -> Void = { _ in }) {
    var initial = State()
    change(&initial)
    state = Mutex(initial)
  }

  func bytes(_ key: String) -> [UInt8]? { state.withLock { $0.objects[key]?.last?.bytes } }

  /// Stores an object as another client would, with the checksum that it asks for.
  func put(_ key: String, _ bytes: [UInt8], checksum: DigestKind? = nil) throws {
    var checksums: [String: String] = [:]
    if let checksum {
      checksums["x-amz-checksum-\(checksum.rawValue)"] = Base64.encode(try Digest.bytes(of: bytes, checksum))
    }
    state.withLock { [checksums] in _ = $0.store(key, bytes, checksums) }
  }

  func response(_ sent: Sent) -> Reply {
    var query: [String: String] = [:]
    for pair in (sent.url.query ?? "").split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1).map { WebURL.decode($0) }
      query[parts[0]] = parts.count > 1 ? parts[1] : ""
    }
    let key = sent.path.split(separator: "/").dropFirst().map { WebURL.decode($0) }.joined(separator: "/")
    return state.withLock { [query] in $0.response(sent, key, query) }
  }
}

extension CopyStore.State {
  @discardableResult
  mutating func store(
    _ key: String, _ bytes: [UInt8], _ checksums: [String: String]
  ) -> CopyStore.Object {
    stored += 1
    let object = CopyStore.Object(bytes: bytes, version: "v\(stored)", checksums: checksums)
    objects[key, default: []].append(object)
    return object
  }

  mutating func response(_ sent: Sent, _ key: String, _ query: [String: String]) -> Reply {
    if query["tagging"] != nil { return .status(200, [:], "<Tagging><TagSet/></Tagging>") }
    if query["uploads"] != nil {
      guard sent.method == "POST" else {
        return .status(
          200, [:],
          "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>")
      }
      opened += 1
      uploads["u\(opened)"] = [:]
      return .status(
        200, [:],
        "<InitiateMultipartUploadResult><UploadId>u\(opened)</UploadId></InitiateMultipartUploadResult>")
    }
    if let id = query["uploadId"] { return part(sent, key, id, query["partNumber"].flatMap { Int($0) }) }
    guard sent.method == "PUT" else { return read(sent, key, query["versionId"]) }
    if sent.headers["x-amz-copy-source"] != nil { return copy(sent, to: key) }
    let name = "x-amz-checksum-crc64nvme"
    let object = store(key, sent.body, sent.headers[name].map { [name: $0] } ?? [:])
    return Reply(status: 200, headers: Self.headers(object))
  }

  private static func headers(_ object: CopyStore.Object) -> HeaderList {
    var headers: HeaderList = ["ETag": object.etag, "x-amz-version-id": object.version]
    for (name, value) in object.checksums { headers.append(name, value) }
    return headers
  }

  private func read(_ sent: Sent, _ key: String, _ version: String?) -> Reply {
    let found = objects[key]?.last { version == nil || $0.version == version }
    guard let object = found else { return .status(404) }
    if let wanted = sent.headers["If-Match"], wanted != object.etag { return .status(412) }
    var headers = Self.headers(object)
    headers.append("Accept-Ranges", "bytes")
    let bounds = sent.headers["Range"]?.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
    guard let bounds, bounds.count == 2 else {
      headers.append("Content-Length", String(object.bytes.count))
      return Reply(status: 200, headers: headers, body: object.bytes)
    }
    let range = bounds[0]..<min(bounds[1] + 1, object.bytes.count)
    headers.append("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(object.bytes.count)")
    headers.append("Content-Length", String(range.count))
    return Reply(status: 206, headers: headers, body: Array(object.bytes[range]))
  }

  /// What a copy is of; the refusal where it is not what the request is bound to.
  private func source(of sent: Sent) -> Result<CopyStore.Object, Refusal> {
    let name =
      sent.headers["x-amz-copy-source"]?.split(separator: "?versionId=").map { WebURL.decode($0) } ?? []
    let key = name.first.map { String($0.dropFirst("/b/".count)) } ?? ""
    let found = objects[key]?.last { name.count < 2 || $0.version == name[1] }
    guard let object = found else { return .failure(Refusal(404, "NoSuchKey")) }
    guard sent.headers["x-amz-copy-source-if-match"] == object.etag else {
      return .failure(Refusal(412, "PreconditionFailed"))
    }
    return .success(object)
  }

  private struct Refusal: Error {
    let reply: Reply
    init(_ status: Int, _ code: String) {
      reply = .status(status, [:], "<Error><Code>\(code)</Code></Error>")
    }
  }

  private mutating func copy(_ sent: Sent, to key: String) -> Reply {
    switch source(of: sent) {
    case .failure(let refusal): return refusal.reply
    case .success(let object):
      let copied = store(key, object.bytes, copiesChecksums ? object.checksums : [:])
      return .status(200, [:], "<CopyObjectResult><ETag>\(copied.etag)</ETag></CopyObjectResult>")
    }
  }

  private mutating func part(_ sent: Sent, _ key: String, _ id: String, _ number: Int?) -> Reply {
    guard let parts = uploads[id] else { return Refusal(404, "NoSuchUpload").reply }
    switch (sent.method, number) {
    case ("PUT", let number?):
      switch source(of: sent) {
      case .failure(let refusal): return refusal.reply
      case .success(let object):
        // An object of up to 5 MiB has no ranges to copy.
        guard sent.headers["x-amz-copy-source-range"] == nil else {
          return Refusal(400, "InvalidRequest").reply
        }
        uploads[id]?[number] = object.bytes
        return .status(200, [:], "<CopyPartResult><ETag>\"p\(number)\"</ETag></CopyPartResult>")
      }
    case ("POST", _):
      uploads[id] = nil
      let bytes = parts.sorted { $0.key < $1.key }.flatMap(\.value)
      let sum = (try? Digest.bytes(of: bytes, .crc64nvme)).map { Base64.encode($0) } ?? ""
      let object = store(key, bytes, ["x-amz-checksum-crc64nvme": sum])
      return .status(
        200, [:],
        "<CompleteMultipartUploadResult><ETag>\(object.etag)</ETag><ChecksumCRC64NVME>\(sum)</ChecksumCRC64NVME></CompleteMultipartUploadResult>"
      )
    case ("DELETE", _):
      uploads[id] = nil
      return .status(204)
    default:
      return .status(200, [:], "<ListPartsResult><IsTruncated>false</IsTruncated></ListPartsResult>")
    }
  }
}
