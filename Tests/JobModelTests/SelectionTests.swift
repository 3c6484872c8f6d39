import Testing

@testable import JobModel

@Suite struct SelectionTests {
  @Test(arguments: [":failed", ":ids:0a1b", "a/*", "failed", "ids", "a{b,c}"])
  func `what was recorded is read as it was`(_ text: String) throws {
    let selection = try Selection(recorded: text)
    #expect(selection.recorded == text)
    switch text {
    case ":failed": #expect(selection == .failed && selection.kind == "failed")
    case ":ids:0a1b": #expect(selection == .ids(sha256: "0a1b") && selection.kind == "only_from")
    default: #expect(selection == .only(try IDPattern(text)) && selection.kind == "only")
    }
  }

  @Test(arguments: [
    ("a", "a", true), ("a", "a/b", true), ("a", "ab", false), ("a/*", "a/b", true), ("a/*", "a/b/c", false),
  ])
  func `a pattern means an id, what lies below it, or a glob`(_ pattern: String, _ id: String, _ isIn: Bool)
    throws
  {
    #expect(try IDPattern(pattern).includes(id) == isIn)
  }
}
