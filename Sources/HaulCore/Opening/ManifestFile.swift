import Digests
import Endpoints
import Glibc
import JobManifest
import JobModel
import Posix

/// A manifest as the command line names it, read and checked.
package struct ManifestFile: Sendable {
  let path: String
  let bytes: [UInt8]
  let sha256: String
  let directory: String
  private let environment: ProcessEnvironment

  /// - Parameter takesStandardInput: reads it where the path is `-`; relative paths then start in the working folder.
  /// - Throws: `End` with 66 where it can't be read.
  package init(_ path: String, _ environment: ProcessEnvironment, takesStandardInput: Bool = false) throws {
    self.path = path
    self.environment = environment
    if path == "-" {
      guard takesStandardInput else {
        throw End(
          .usage, "a job is planned and run from a file, not from standard input",
          hint: "its state remembers the manifest's path; `haul check -` reads standard input")
      }
      guard let read = try? Files.readToEnd(STDIN_FILENO) else {
        throw End(.noInput, "standard input can't be read")
      }
      bytes = read
      sha256 = try Digest.hex(of: bytes, .sha256)
      directory = Files.workingFolder
      return
    }
    guard Files.exists(path) else { throw End(.noInput, "the manifest `\(path)` does not exist") }
    guard let read = try? Files.read(path) else {
      throw End(.noInput, "the manifest `\(path)` can't be read")
    }
    bytes = read
    sha256 = try Digest.hex(of: bytes, .sha256)
    let real = Paths.real(path)
    directory = PathParts(real).parent
  }

  func read(overrides: [String: String]) -> ManifestResult {
    ManifestReader.read(
      bytes, path: path, directory: directory, overrides: overrides,
      environment: { [environment] in environment.variables[$0] })
  }

  /// The job's name, as far as the manifest is sound enough to have one.
  var jobName: String? { Self.jobName(bytes, path: path, environment) }

  /// The job's name, as far as the manifest is sound enough to have one.
  static func jobName(_ bytes: [UInt8], path: String, _ environment: ProcessEnvironment) -> String? {
    let directory = PathParts(Paths.real(path)).parent
    let result = ManifestReader.read(
      bytes, path: path, directory: directory, environment: { environment.variables[$0] })
    return (result.job ?? result.readable)?.name
  }
}
