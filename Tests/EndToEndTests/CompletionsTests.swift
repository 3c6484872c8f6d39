import Foundation
import Testing
import TestSupport

/// The scripts of `haul completions`, in the shells that are installed.
@Suite(.turns)
struct CompletionsTests {
  @Test(arguments: [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")])
  func shellsReadTheirScript(_ shell: String, _ option: String) async throws {
    let bench = try Bench()
    let script = try await Running(
      Programs.haul, ["completions", shell], environment: bench.environment(), folder: bench.job,
      scratch: bench.scratch.path
    ).wait()
    #expect(script.status == 0 && script.output.contains("---completion"), "\(script.errors)")
    let file = try bench.scratch.write("script", script.output)
    guard let program = Programs.find(shell) else { return }
    let read = try await Running(
      program, [option, file], environment: bench.environment(), folder: bench.job,
      scratch: bench.scratch.path
    ).wait()
    #expect(read.status == 0 && read.errors == "", "\(read.errors)")
  }

  /// bash as it completes a line: the script's function is called with the words.
  @Test func bashCompletesJobsAndIDs() async throws {
    let bench = try Bench()
    try bench.writeJob(
      """
      version: 1
      job: nightly
      transfers:
        - { id: deck, upload: deck, to: "http://127.0.0.1:1/deck" }
        - { id: extra, upload: deck, to: "http://127.0.0.1:1/extra" }
      """)
    try bench.writeJob("", as: "$(touch harm).yaml")
    #expect(try await bench.haul(["run", "job.yaml", "--quiet"]).status == 1)
    let script = """
      source <("$1" completions bash)
      complete_line() {
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMPREPLY=()
        _haul haul "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        echo "${COMPREPLY[*]}"
      }
      complete_line "$1" completions z
      complete_line "$1" status ""
      complete_line "$1" pause nightly e
      complete_line "$1" run job.yaml --only d
      ls
      """
    let end = try await Running(
      "/bin/bash", ["-c", script, "bash", Programs.haul],
      environment: bench.environment(["HAUL_STATE_DIR": bench.state]), folder: bench.job,
      scratch: bench.scratch.path
    ).wait()
    #expect(
      end.output == "zsh\nnightly job.yaml\nextra\ndeck\n$(touch harm).yaml\njob.yaml\n", "\(end.errors)")
  }
}
