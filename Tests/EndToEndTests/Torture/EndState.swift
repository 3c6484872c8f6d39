import Foundation
import TestSupport

/// What a job left behind, in a form that two runs can be compared by.
struct EndState: Equatable {
  /// Digests of all files on both sides, by path.
  var job: [String: String]
  var served: [String: String]
  /// Of each transfer in the report: id, state and reason, size, digest.
  var transfers: [String]

  init(_ bench: Bench, _ run: HaulRun) throws {
    job = try Sums.tree(bench.job).filter { $0.key != "job.yaml" }
    served = try Sums.tree(bench.served).filter { !$0.key.hasPrefix(".depot/") }
    transfers = run.transfers.map { transfer in
      let id = transfer["id"].string ?? ""
      return
        "\(id): \(run.state(id)) \(transfer["size"].int ?? -1) \(transfer["digests"]["sha256"].string ?? "-")"
    }.sorted()
  }

  /// What differs, in words; empty where nothing does.
  func differences(from other: EndState) -> [String] {
    func lines(_ name: String, _ mine: [String: String], _ theirs: [String: String]) -> [String] {
      Set(mine.keys).union(theirs.keys).sorted().filter { mine[$0] != theirs[$0] }.map {
        "\(name) \($0): \(mine[$0] ?? "absent"), undisturbed \(theirs[$0] ?? "absent")"
      }
    }
    return lines("job/", job, other.job) + lines("served/", served, other.served)
      + Set(transfers).symmetricDifference(other.transfers).sorted()
  }
}

/// What must not be left behind: part files, snapshots, open sessions.
enum Leftovers {
  static func find(_ bench: Bench, job: String) -> [String] {
    let files = FileManager.default
    let snapshots = (try? files.contentsOfDirectory(atPath: bench.state + "/\(job)/snapshots")) ?? []
    return bench.parts() + snapshots.map { "snapshot " + $0 } + openSessions(bench)
  }

  /// Sessions that depot keeps and that are neither finished nor taken over.
  static func openSessions(_ bench: Bench) -> [String] {
    let folder = bench.served + "/.depot/sessions"
    let ids = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return ids.compactMap { id in
      guard let data = FileManager.default.contents(atPath: "\(folder)/\(id)/session.json"),
        let record = try? JSON.parse(String(decoding: data, as: UTF8.self)),
        record["finishedSha256"].isNull, record["replacedBy"].isNull
      else { return nil }
      let journal = FileManager.default.contents(atPath: "\(folder)/\(id)/journal") ?? Data()
      return "session of \(record["fileName"].string ?? "?"), journal of \(journal.count) bytes"
    }
  }
}
