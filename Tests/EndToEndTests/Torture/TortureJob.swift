import Foundation
import TestSupport

/// A job of the torture: small and large files both ways, every `if_exists`, `expect`, `snapshot`. All of it follows
/// from a seed.
struct TortureJob {
  struct File {
    var id: String
    var isUpload: Bool
    var size: Int
    var seed: UInt64
    /// What the transfer says beyond its source and destination.
    var more = ""
    /// A web server's endpoint in place of the session's.
    var isWeb = false
    /// Something else stands at the destination already.
    var isPresent = false
    /// … and stays there.
    var isKept = false
  }

  static let chunk = 64 << 10
  static let transfersAtOnce = 6
  static let chunksAtOnce = 2
  /// Bytes a second of each body, both ways.
  static let rate = 384 << 10

  let files: [File]

  init(seed: UInt64) {
    var random = SeededRandom(seed)
    var files: [File] = []
    for isUpload in [false, true] {
      let way = isUpload ? "up" : "down"
      // Sizes are different from one another: depot's log tells uploads apart by them.
      var sizes = [0, 1] + (0..<8).map { 700 * ($0 + 2) + Int.random(in: 0..<700, using: &random) }
      sizes += (0..<4).map { (500 + 400 * $0) << 10 | Int.random(in: 1..<1000, using: &random) }
      for (index, size) in sizes.enumerated() {
        var file = File(id: "\(way)-\(index)", isUpload: isUpload, size: size, seed: random.next())
        switch index % 5 {
        case 1: file.isPresent = true
        case 2: file.more = ", if_exists: fail"
        case 3: (file.more, file.isPresent, file.isKept) = (", if_exists: keep", index < 9, index < 9)
        case 4: file.more = ", if_exists: keep"
        default: break
        }
        if index == 12 { file.isWeb = !isUpload }
        if isUpload, index == 5 || index == 11 { file.more += ", snapshot: copy" }
        files.append(file)
      }
    }
    self.files = files.shuffled(using: &random)
  }

  /// Bytes that must cross the network once.
  var useful: Int64 { files.filter { !$0.isKept }.reduce(0) { $0 + Int64($1.size) } }

  /// Makes sources and what is in the way; gives the versions that each destination may show.
  func furnish(_ bench: Bench) throws -> [String: [Data]] {
    try bench.scratch.folder("job/got")
    try bench.scratch.folder("served/in")
    var allowed: [String: [Data]] = [:]
    for file in files {
      let source = (file.isUpload ? bench.job : bench.served) + "/\(file.id).bin"
      try SeededFile.make(source, size: file.size, seed: file.seed)
      let target = (file.isUpload ? bench.served + "/in" : bench.job + "/got") + "/\(file.id).bin"
      var versions: [Data] = []
      if file.isPresent {
        try SeededFile.make(target, size: file.size / 2 + 100, seed: ~file.seed)
        versions.append(try Data(contentsOf: URL(fileURLWithPath: target)))
      }
      if !file.isKept { versions.append(try Data(contentsOf: URL(fileURLWithPath: source))) }
      allowed[target] = versions
    }
    return allowed
  }

  func manifest(_ depot: Depot, _ bench: Bench) throws -> String {
    let transfers = try files.map { file in
      let name = "\(file.id).bin"
      let source = (file.isUpload ? bench.job : bench.served) + "/" + name
      // Every other file is expected by its digest.
      let expect = file.seed % 2 == 0 ? ", expect: { sha256: \(try Sums.file(source) ?? "") }" : ""
      let place =
        file.isUpload
        ? "upload: \(name), to: \"depot:in/\(name)\""
        : "download: \"\(file.isWeb ? depot.url + "/files/" : "depot:")\(name)\", to: got/\(name)"
      return "  - { id: \(file.id), \(place)\(file.more)\(expect) }"
    }
    return """
      version: 1
      job: torture
      endpoints: { depot: \(depot.endpoint) }
      policies:
        p:
          transfers: \(Self.transfersAtOnce)
          chunks_in_flight: \(Self.chunksAtOnce)
          connections: { total: 16, per_host: 16 }
          retry: { attempts: 40, initial: 30ms, max: 300ms }
      defaults: { policy: p, chunk_size: \(Self.chunk) }
      transfers:
      \(transfers.joined(separator: "\n"))

      """
  }

  /// Slow bodies, so that kills land in their middle.
  static let slowly = [
    "{\"match\": {\"method\": \"GET\", \"path\": \"/files/*\"}, \"action\": {\"rate\": \(rate)}}",
    "{\"match\": {\"method\": \"PUT\"}, \"action\": {\"uploadRate\": \(rate)}}",
  ]
}
