internal import Foundation

/// Foundation's words for a file that can't be opened, without the path that the message has already.
enum UnreadableFile {
  static func reason(_ error: any Error) -> String {
    guard let error = error as? CocoaError else { return "\(error)" }
    switch error.code {
    case .fileReadNoSuchFile, .fileNoSuchFile: return "there is no such file"
    case .fileReadNoPermission: return "permission denied"
    default: return error.localizedDescription
    }
  }
}
