import Digests
import Endpoints
import Glibc
import JobLedger
import JobManifest
import JobModel
import Posix

/// A manifest as the command line names it, read and checked.
package struct ManifestFile: Sendable {
  /// As it was given; `-` where it came by standard input.
  let path: String
  let bytes: [UInt8]
  /// Empty where it can't be read.
  let sha256: String
  let directory: String
  private let environment: ProcessEnvironment

  /// - Parameter root: the folder of a manifest that comes by standard input (`-`); nil for the working folder.
  /// - Throws: `End` with 66 where it can't be read.
  package init(_ path: String, _ environment: ProcessEnvironment, root: String? = nil) throws {
    guard path != "-" else {
      let folder = root.map(Paths.absolute) ?? Files.workingFolder
      guard Files.isFolder(folder) else { throw End(.noInput, "the folder `\(folder)` does not exist") }
      let read: [UInt8]
      do throws(SystemError) { read = try Files.readToEnd(STDIN_FILENO) } catch {
        throw End(.noInput, "standard input can't be read: \(error)")
      }
      try self.init(standardInput: read, directory: Paths.real(folder), environment)
      return
    }
    guard root == nil else {
      throw End(.usage, "`--root` is the folder of a manifest that comes by standard input, `-`")
    }
    guard Files.exists(path) else { throw End(.noInput, "the manifest `\(path)` does not exist") }
    let read: [UInt8]
    do throws(SystemError) { read = try Files.read(path) } catch {
      throw End(
        .noInput, "the manifest `\(path)` can't be read: \(error)",
        hint: error.number == EACCES ? "give the user that runs haul the right to read it" : nil)
    }
    try self.init(read, path: path, environment)
  }

  /// - Parameter bytes: the content of the file.
  init(_ bytes: [UInt8], path: String, _ environment: ProcessEnvironment) throws {
    (self.path, self.bytes, self.environment) = (path, bytes, environment)
    sha256 = try Digest.hex(of: bytes, .sha256)
    directory = PathParts(Paths.real(path)).parent
  }

  /// One that can't be read: what is told of that may need its path.
  init(unreadable path: String, _ environment: ProcessEnvironment) {
    (self.path, bytes, sha256, self.environment) = (path, [], "", environment)
    directory = path == "-" ? Files.workingFolder : PathParts(Paths.absolute(path)).parent
  }

  private init(standardInput bytes: [UInt8], directory: String, _ environment: ProcessEnvironment) throws {
    (path, self.bytes, self.directory, self.environment) = ("-", bytes, directory, environment)
    sha256 = try Digest.hex(of: bytes, .sha256)
  }

  /// The manifest as it is now. Standard input, and a pipe, give their bytes once.
  ///
  /// - Throws: `End` with 66 where it can't be read any more.
  func readAgain() throws -> ManifestFile {
    if path == "-" || Files.exists(path) && !Files.isRegular(path) { return self }
    return try ManifestFile(path, environment)
  }

  /// The manifest that the job was compiled from last, if it can still be read.
  init?(recordedIn ledger: JobLedger, _ environment: ProcessEnvironment) throws {
    guard let path = try ledger.meta("manifest") else { return nil }
    let text = PathParts(path).name == "-" ? try ledger.meta(Self.textMeta) : nil
    let file =
      if let text {
        try Self(standardInput: Array(text.utf8), directory: PathParts(path).parent, environment)
      } else { try? Self(path, environment) }
    guard let file else { return nil }
    self = file
  }

  /// What reports and later commands need of the manifest.
  ///
  /// - Parameter overrides: what `--set` said when it was read.
  func remember(in ledger: JobLedger, _ read: ManifestResult, overrides: [String: String]) throws {
    try ledger.setMeta("manifest", logicalPath)
    try ledger.setMeta("manifest_as_given", path)
    try ledger.setMeta("manifest_sha256", sha256)
    try ledger.setMeta("inputs_sha256", Self.inputs(read.imports, overrides))
    // Controls and `gc` read it again.
    if path == "-" { try ledger.setMeta(Self.textMeta, String(decoding: bytes, as: UTF8.self)) }
  }

  /// A digest of what a plan is made of beside the manifest: reports of parts where it differs are not of one plan.
  private static func inputs(_ imports: [ImportedFile], _ overrides: [String: String]) throws -> String {
    let digests = try imports.map { try Digest.hex(of: $0.bytes, .sha256) }
    let parts = [JSON.dictionary(overrides).text] + digests
    return try Digest.hex(of: Array(parts.joined(separator: "\n").utf8), .sha256)
  }

  private static let textMeta = "manifest_text"

  /// What the state knows it by: links are left as they are, and standard input is the name `-` in its folder.
  var logicalPath: String {
    path == "-" ? directory + "/-" : Paths.logical(path, shell: environment.variables["PWD"])
  }

  func read(overrides: [String: String]) -> ManifestResult {
    ManifestReader.read(
      bytes, path: path, directory: directory, overrides: overrides, imports: imports,
      environment: { [environment] in environment.variables[$0] })
  }

  private var imports: ImportSource {
    ImportSource(
      manifest: path == "-" ? nil : Paths.real(path),
      resolve: { path in
        guard let real = realpath(path, nil) else {
          return .failure(errno == ENOENT ? .missing : .unreadable("\(SystemError())"))
        }
        defer { free(real) }
        return .success(String(cString: real))
      },
      read: { path in
        // A device or a pipe may never end.
        guard Files.isRegular(path) else { return .failure(.unreadable("it is not a regular file")) }
        do throws(SystemError) { return .success(try Files.read(path)) } catch {
          return .failure(.unreadable("\(error)"))
        }
      })
  }

  /// The job's name, as far as the manifest is sound enough to have one.
  var jobName: String? {
    let result = read(overrides: [:])
    return (result.job ?? result.readable)?.name
  }
}
