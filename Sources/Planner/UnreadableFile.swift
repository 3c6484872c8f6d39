internal import Glibc
internal import Posix

/// Why a file can't be opened, without the path that the message has already.
enum UnreadableFile {
  static func reason(_ error: any Error) -> String {
    switch (error as? SystemError)?.number {
    case ENOENT: "there is no such file"
    case EACCES: "permission denied"
    default: "\(error)"
    }
  }
}
