import ArgumentParser
import CPosix
import Glibc
import HaulCore
import JobModel
import Posix

@main
struct Haul: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "haul",
    abstract: "Runs file transfers from a manifest, resumably, and proves what it did.",
    discussion: """
      Write a job (docs/manifest.md), look at it with `haul check` and `haul plan`, run it with `haul run`. \
      Running again goes on where the last run stopped. Exit codes: \
      \(ExitStatus.allCases.map { "\($0.rawValue) \($0.meaning)" }.joined(separator: "; ")).
      """,
    version: ToolVersion.current,
    subcommands: [
      CheckCommand.self, PlanCommand.self, RunCommand.self, StatusCommand.self, ReportCommand.self,
      HistoryCommand.self, PauseCommand.self, ResumeCommand.self, CancelCommand.self, RetryCommand.self,
      LimitCommand.self, VerifyCommand.self, GcCommand.self, CompletionsCommand.self,
    ])

  /// The one place where an end becomes an exit status.
  static func main() async {
    haul_lean_malloc()
    signal(SIGPIPE, SIG_IGN)
    // Where whoever started haul ignores it, nobody could be told how a child ended.
    signal(SIGCHLD, SIG_DFL)
    let words = CommandWords.ordered(Array(Machine.arguments.dropFirst()))
    // Told without the parser, which touches a quarter of the program's pages.
    if words == ["--version"] {
      CurrentProcess.console.out(ToolVersion.current + "\n")
      exitIfUnwritten()
      CurrentProcess.exit(.success)
    }
    // A run reports its end, also where it was stopped before it began.
    if words.first == RunCommand.configuration.commandName { Signals.noteEarly() }
    if words.first == VerifyCommand.configuration.commandName { Signals.endAtOnce() }
    do {
      try refuseOtherEncodings(words)
      try refuseUnknownHelp(words)
      try refuseUnknownWords(words)
      var command = try parseAsRoot(words)
      if var asynchronous = command as? any AsyncParsableCommand {
        try ThreadSupply.check()
        ThreadSupply.watch { CurrentProcess.exit($0) }
        try await asynchronous.run()
      } else {
        try command.run()
      }
      exitIfUnwritten()
    } catch let end as End {
      CurrentProcess.console.print(end)
      exitIfUnwritten(end)
      CurrentProcess.exit(end.status)
    } catch {
      let code = exitCode(for: error)
      // What is no mistake on the command line, no help and no version is a defect of ours.
      guard code == .success || code == .validationFailure else {
        CurrentProcess.console.error("\(error)", hint: "this is a defect in haul; please report it")
        CurrentProcess.exit(.software)
      }
      if code == .success {
        CurrentProcess.console.out(fullMessage(for: error) + "\n")
        exitIfUnwritten()
        CurrentProcess.exit(.success)
      }
      guard CurrentProcess.console.style.isRecords else { exit(withError: error) }
      CurrentProcess.console.error(message(for: error), hint: "`haul help` shows how it is used")
      CurrentProcess.exit(.usage)
    }
  }

  /// Names that are no text would be repaired, and stand for other files and folders then.
  private static func refuseOtherEncodings(_ words: [String]) throws {
    let hint = "rename it, or reach it by a symbolic link whose name is UTF-8"
    if let word = Machine.otherEncoding { throw End(.usage, "`\(word)` is not UTF-8", hint: hint) }
    if let first = words.first, !first.hasPrefix("-"), first != "help", !Files.workingFolderIsText {
      throw End(.usage, "the path of the working folder, `\(Files.workingFolder)`, is not UTF-8", hint: hint)
    }
  }

  /// Says what was meant where the parser only says that it does not know a word.
  private static func refuseUnknownWords(_ words: [String]) throws {
    let names = configuration.subcommands.compactMap { $0.configuration.commandName }
    guard let first = words.first, !first.hasPrefix("-"), first != "help" else { return }
    guard names.contains(first) else {
      let near = NearMiss.of(first, among: names).map { "did you mean `\($0)`?" }
      let isFile = Files.exists(first)
      throw End(
        .usage, "`\(first)` is not a command of haul",
        hint: near ?? (isFile ? "`haul run \(first)` runs it" : "`haul help` lists the commands"))
    }
    if words.contains("--dry-run"), first != GcCommand.configuration.commandName {
      throw End(
        .usage, "`haul \(first)` has no `--dry-run`", hint: "`haul plan JOB.yaml` shows what a run would do")
    }
  }

  /// `haul help WORD` shows the overview for any word otherwise, as if it had been understood.
  private static func refuseUnknownHelp(_ words: [String]) throws {
    guard words.first == "help", let word = words.dropFirst().first, !word.hasPrefix("-"), word != "help"
    else {
      return
    }
    let names = configuration.subcommands.compactMap { $0.configuration.commandName }
    guard !names.contains(word) else { return }
    throw End(.usage, "there is no command `\(word)`", hint: "`haul help` lists them")
  }

  /// What was asked for and did not reach its reader is no success, whatever was done.
  private static func exitIfUnwritten(_ end: End? = nil) {
    guard let unwritten = CurrentProcess.console.unwritten, end == nil || unwritten.status != .incomplete
    else { return }
    CurrentProcess.exit(unwritten)
  }
}
