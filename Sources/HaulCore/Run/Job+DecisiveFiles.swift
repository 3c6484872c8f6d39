import Endpoints
import JobModel

extension Job {
  /// Files that say what haul does for the job, and with which secrets: whoever writes the manifest writes them, not a server.
  var decisiveFiles: [String] {
    let secrets = secrets.flatMap { use -> [String] in
      switch use.source {
      case .reference(.file(let path)), .keyFile(let path), .file(let path): [path]
      // A script is an argument of its shell; it is looked for from the working folder.
      case .reference(.command(let words)): words.map(Paths.absolute)
      case .reference(.environment), .awsEnvironment: []
      }
    }
    let notices = notices.flatMap { notice -> [String] in
      guard case .command(let words) = notice.action else { return [] }
      return words.compactMap(\.literal).map { RelativePath.isAbsolute($0) ? $0 : directory + "/" + $0 }
    }
    return [Paths.real(manifestPath)] + imports + secrets + notices
  }
}
