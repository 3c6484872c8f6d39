import Glibc
import Posix
import Testing

struct ChildProcessTests {
  private static func run(_ words: [String], showsErrors: Bool = true) throws -> (
    output: String, status: Int32
  ) {
    let child = try ChildProcess(env: words, showsErrors: showsErrors)
    return (String(decoding: child.readToEnd() ?? [], as: UTF8.self), child.reap())
  }

  @Test(
    arguments: [
      (["sh", "-c", "echo hello; exit 3"], "hello\n", 3), (["true"], "", 0),
      (["sh", "-c", "kill -9 $$"], "", 9),
      // Its input is empty, and its arguments are kept apart.
      (["cat"], "", 0), (["printf", "%s|", "a b", "", "ä\"'"], "a b||ä\"'|", 0),
      (["seq", "1", "50000"], (1...50_000).map { "\($0)\n" }.joined(), 0),
      (["A=b", "sh", "-c", "echo $A"], "b\n", 0),
    ] as [([String], String, Int32)])
  func outputAndStatus(_ words: [String], _ output: String, _ status: Int32) throws {
    #expect(try Self.run(words) == (output, status))
  }

  @Test func unknownPrograms() throws {
    #expect(try Self.run(["no-such-program-of-haul"], showsErrors: false) == ("", 127))
  }

  /// No descriptor of ours goes along, close-on-exec or not; it has a group of its own.
  @Test func whatItInherits() throws {
    let descriptor = open("/dev/null", O_RDONLY)
    defer { close(descriptor) }
    let (output, _) = try Self.run([
      "sh", "-c", "ls /proc/$$/fd | tr '\\n' ' '; ps -o pgid= -p $$ | tr -d ' '; echo $$",
    ])
    let lines = output.split(separator: "\n")
    #expect(lines.first?.hasPrefix("0 1 2 ") == true)
    #expect(lines.first?.split(separator: " ").last == lines.last)
  }

  @Test func itsIdIsItsOwnUntilItIsReaped() throws {
    let child = try ChildProcess(env: ["sleep", "100"], showsErrors: true)
    #expect(kill(child.id, SIGKILL) == 0)
    #expect(child.readToEnd() == [])
    #expect(kill(child.id, 0) == 0)
    #expect(child.reap() == SIGKILL)
    #expect(kill(child.id, 0) == -1)
  }

  /// What writes without an end is not read without an end.
  @Test func anEndlessOutput() throws {
    let child = try ChildProcess(env: ["yes"], showsErrors: true)
    #expect(child.readToEnd() == nil)
    #expect(child.reap() == SIGPIPE)
  }
}
