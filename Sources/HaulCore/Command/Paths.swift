import Endpoints
import Glibc
import JobModel
import Posix

/// Paths as the command line gives them, made absolute.
package enum Paths {
  package static func absolute(_ path: String) -> String {
    RelativePath.absolute(path, in: Files.workingFolder)
  }

  /// Absolute, with links left as they are: below the shell's idea of where it is (`pwd -L`), where that is right.
  ///
  /// - Parameter shell: the variable `PWD`.
  static func logical(_ path: String, shell: String?) -> String {
    guard !path.hasPrefix("/") else { return RelativePath.tidy(path) }
    let here = Files.workingFolder
    let given = shell.flatMap { RelativePath.isAbsolute($0) && real($0) == real(here) ? $0 : nil }
    return RelativePath.tidy((given ?? here) + "/" + path)
  }

  /// Links resolved, so that one file has one name.
  static func real(_ path: String) -> String {
    guard let resolved = realpath(path, nil) else { return absolute(path) }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// As `real`, and of a file that is not there yet one name as well.
  static func tidied(_ path: String) -> String { RelativePath.tidy(real(path)) }
}
