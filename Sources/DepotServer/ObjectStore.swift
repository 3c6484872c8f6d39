import FoundationEssentials
import Glibc

/// Finished uploads under their ids: `.depot/objects/ID/data` and `meta.json`. Never changed once written.
struct ObjectStore: Sendable {
  struct Meta: Codable, Sendable {
    var fileName: String
    var size: Int
    var sha256: String
    var mimeType: String
  }

  let folder: String

  static func isID(_ text: String) -> Bool {
    text.utf8.count == 35 && text.hasPrefix("rf-") && Hex.decode(text.dropFirst(3)) != nil
  }

  func folder(of id: String) -> String { folder + "/" + id }

  /// Removes what a kill in the middle of a finalize left, described or not; a repeated finalize makes it anew.
  ///
  /// - Parameter sessions: the folder of all sessions. Nobody was given the id of what an unfinished one made.
  func removeUnfinished(sessions: String) {
    for id in Disk.list(sessions) {
      guard let record = SessionRecord.load(from: sessions + "/" + id), record.finishedSha256 == nil,
        Self.isID(record.remoteFileId)
      else { continue }
      Disk.removeFolder(folder(of: record.remoteFileId))
    }
    for id in Disk.list(folder) where Disk.read(folder(of: id) + "/meta.json") == nil {
      Disk.removeFolder(folder(of: id))
    }
  }

  func open(_ id: String) -> (OpenFile, Meta)? {
    guard Self.isID(id), let content = Disk.read(folder(of: id) + "/meta.json"),
      let meta = try? JSONDecoder().decode(Meta.self, from: Data(content))
    else { return nil }
    let descriptor = Glibc.open(folder(of: id) + "/data", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0, let file = OpenFile(descriptor: descriptor) else { return nil }
    return (file, meta)
  }
}
