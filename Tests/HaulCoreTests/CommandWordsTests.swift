import Testing

@testable import HaulCore

struct CommandWordsTests {
  @Test(
    arguments: [
      ("run job.yaml --json", "run job.yaml --json"), ("--json status a", "status --json a"),
      ("--state-dir s --quiet run a --report r", "run --state-dir s --quiet a --report r"),
      ("--state-dir=s --log-format json check a", "check --state-dir=s --log-format json a"),
      // What is no common option, or has no command behind it, is for the parser to refuse.
      ("--version", "--version"), ("--json", "--json"), ("--state-dir", "--state-dir"),
      ("--state-dir run", "--state-dir run"), ("--only a run job.yaml", "--only a run job.yaml"),
      ("--json=x status", "--json=x status"), ("", ""),
    ])
  func commonOptionsFollowTheCommand(_ given: String, _ ordered: String) {
    func words(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }
    #expect(CommandWords.ordered(words(given)) == words(ordered))
  }
}
