import Endpoints
import JobModel

/// Makes the folders of an upload that are missing below the endpoint's base.
struct FolderPath {
  private let file: SFTPPath
  private let files: SFTPFiles

  init(_ file: SFTPPath, _ files: SFTPFiles) { (self.file, self.files) = (file, files) }

  nonisolated(nonsending) func make() async throws {
    var missing: [String] = []
    for folder in file.folders.reversed() {
      if try await isThere(folder) { break }
      missing.append(folder)
    }
    if missing.count == file.folders.count, try await !isThere(file.base) {
      throw Failure(
        .notFound,
        "\(files.place): the endpoint's own folder `\(file.base)` is not there, and haul makes folders only below it; correct the endpoint's `url`, or make the folder"
      )
    }
    for folder in missing.reversed() {
      do {
        try await files.done(.makeFolder(folder), "make the folder `\(folder)`")
      } catch let failure as Failure where failure.code != .networkUnreachable {
        // Another upload of the same moment has made it, for instance.
        guard try await isThere(folder) else { throw failure }
      }
    }
  }

  private nonisolated(nonsending) func isThere(_ folder: String) async throws -> Bool {
    guard let found = try await files.found(.stat(folder)) else { return false }
    guard found.kind == .folder || found.kind == nil else {
      // Not what `if_exists: keep` may take for the upload's own name.
      throw Failure(.notFound, "\(files.place): `\(folder)` is a file, where a folder is to be")
    }
    return true
  }
}
