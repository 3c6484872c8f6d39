import Foundation

/// Validation against the project's schemas by python's jsonschema.
package enum Schema {
  private static let script = """
    import json, sys, jsonschema
    schema = json.load(open(sys.argv[1]))
    check = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
    text = open(sys.argv[2], encoding="utf-8").read()
    values = [json.loads(text)] if sys.argv[3] == "one" else [json.loads(l) for l in text.splitlines()]
    for n, value in enumerate(values):
      for error in list(check.iter_errors(value))[:5]:
        print(n, "/".join(map(str, error.absolute_path)), error.message[:300])
    """

  /// What is wrong with a file; nothing where it is valid.
  ///
  /// - Parameter isLines: the file has a value a line.
  package static func faults(of file: String, name: String, isLines: Bool = false) async throws -> String {
    let scratch = try Scratch()
    let schema = Programs.schemas + "/\(name).schema.json"
    let run = try Running(
      Programs.python, ["-c", script, schema, file, isLines ? "lines" : "one"], environment: [:], folder: "/",
      scratch: scratch.path)
    let end = try await run.wait()
    return end.status == 0 ? end.output : "the validator ended with \(end.status): \(end.errors.suffix(500))"
  }
}
