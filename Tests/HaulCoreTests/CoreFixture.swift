import Endpoints
import Foundation
import JobLedger
import JobModel
import TestSupport

@testable import HaulCore

/// A folder with a manifest and a state folder, and commands whose output goes to files in it.
final class CoreFixture {
  let scratch: Scratch
  let variables: [String: String]

  init(_ variables: [String: String] = [:]) throws {
    scratch = try Scratch()
    self.variables = variables
  }

  var environment: ProcessEnvironment { ProcessEnvironment(variables, userHome: scratch.path) }
  var state: StateFolder { StateFolder(path: scratch.path + "/state") }

  func console(_ arguments: [String] = []) throws -> Console {
    Console(
      output: try descriptor("out"), errors: try descriptor("errors"), style: Console.Style(arguments),
      environment: environment)
  }

  func context(_ arguments: [String] = []) throws -> CommandContext {
    CommandContext(environment: environment, console: try console(arguments))
  }

  func reports() throws -> ReportSink {
    ReportSink(targets: [], json: false, state: state, context: try context())
  }

  func printed(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: scratch.path + "/" + name)), as: UTF8.self)
  }

  func manifest(_ text: String, name: String = "job.yaml") throws -> ManifestFile {
    try ManifestFile(try scratch.write(name, text), environment)
  }

  private func descriptor(_ name: String) throws -> Int32 {
    let descriptor = open(
      scratch.path + "/" + name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw TestFault("can't open \(name): errno \(errno)") }
    return descriptor
  }

  static let job = """
    version: 1
    job: core
    endpoints: { web: { type: http, url: "https://example.com/files" } }
    transfers:
      - { id: one, download: "web:a/1.bin", to: in/1.bin }
      - { id: two, download: "https://example.com/2.bin?sig=x", to: in/2.bin }

    """
}
