package import JobModel
package import YAML

/// What every rule needs while one manifest is read: where faults go, and what names stand for.
package final class Scope {
  package let faults: Faults
  /// Absolute folder of the manifest.
  package let directory: String
  private let environment: (String) -> String?
  package var variables: [String: String] = [:]
  /// An imported file can't be read: names that are not declared may be in there, and using one is no further fault.
  package var lacksNames = false
  /// Absolute folders of imported files, by the `file` of their marks.
  package var folders: [Int: String] = [:]
  /// Declared, but its own value is at fault: using it is no further fault.
  package var brokenVariables: Set<String> = []
  /// Variables whose value came, at least in part, out of the environment.
  package var environmentVariables: Set<String> = []
  /// What was asked of the environment, empty where it has no such name.
  package private(set) var environmentUsed: [String: String] = [:]
  package private(set) var usedEnvironment = false
  package private(set) var secrets: [SecretUse] = []

  /// A policy's mapping, and those below it, each with where it stands: for hints.
  let policies: [(KeyShape, String)]

  package init(
    faults: Faults, directory: String, policies: [(KeyShape, String)],
    environment: @escaping (String) -> String?
  ) {
    self.faults = faults
    self.policies = policies
    self.directory = directory
    self.environment = environment
  }

  /// What may stand in a text besides variables.
  package struct Allowed: OptionSet, Sendable {
    package var rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
    package static let environment = Allowed(rawValue: 1)
    package static let run = Allowed(rawValue: 2)
    package static let row = Allowed(rawValue: 4)
    package static let source = Allowed(rawValue: 8)
    package static let uuid = Allowed(rawValue: 16)
    package static let notice = Allowed(rawValue: 32)
    package static let file = Allowed(rawValue: 64)

    package static let settled: Allowed = [.environment]
    package static let transfer: Allowed = [.environment, .run, .row, .uuid]
  }

  /// Puts in what is known now; nil after a fault, which is reported at the mark.
  package func interpolate(_ text: String, at mark: YAMLMark, allowed: Allowed, key: String)
    -> InterpolatedText?
  {
    do {
      let parsed = try InterpolationParser.parse(text)
      var result = InterpolatedText("")
      for part in parsed.parts {
        switch part {
        case .literal(let literal): result.append(literal: literal)
        case .reference(let reference):
          guard let put = try resolve(reference, allowed: allowed, key: key) else { return nil }
          for part in put.parts {
            if case .literal(let literal) = part {
              result.append(literal: literal)
            } else {
              result.parts.append(part)
            }
          }
        }
      }
      return result
    } catch {
      faults.error(error, at: mark)
      return nil
    }
  }

  private func resolve(
    _ reference: InterpolatedText.Reference, allowed: Allowed, key: String
  ) throws(ValueFault) -> InterpolatedText? {
    let shown = "`${\(reference.name.text)}`"
    func require(_ kind: Allowed) throws(ValueFault) {
      guard allowed.contains(kind) else {
        throw ValueFault("\(shown) can't be used in `\(key)`", hint: Self.use(kind))
      }
    }
    switch reference.name {
    case .variable(let name):
      if brokenVariables.contains(name) { return nil }
      guard let value = variables[name] else {
        if reference.fallback != nil { return InterpolatedText(try reference.filtered("", what: "")) }
        if lacksNames { return nil }
        let near = NearMiss.of(name, among: variables.keys.sorted())
        throw ValueFault(
          "the variable `\(name)` is not declared",
          hint: near.map { "did you mean `${var.\($0)}`?" } ?? "declare it under `vars`")
      }
      if environmentVariables.contains(name) {
        try requireEnvironment(allowed, shown: shown, key: key)
        usedEnvironment = true
      }
      return InterpolatedText(try reference.filtered(value, what: "the variable `\(name)`"))
    case .environment(let name):
      try requireEnvironment(allowed, shown: shown, key: key)
      usedEnvironment = true
      let value = environment(name) ?? ""
      environmentUsed[name] = value
      return InterpolatedText(try reference.filtered(value, what: "the environment variable `\(name)`"))
    case .runID, .runDate: try require(.run)
    case .column: try require(.row)
    case .uuid: try require(.uuid)
    case .source: try require(.source)
    case .fact: try require(.notice)
    case .file, .id: try require(.file)
    }
    return InterpolatedText(parts: [.reference(reference)])
  }

  private func requireEnvironment(_ allowed: Allowed, shown: String, key: String) throws(ValueFault) {
    guard allowed.contains(.environment) else {
      throw ValueFault(
        "\(shown) is refused in `\(key)`: what comes from the environment there is a secret",
        hint: "write a reference instead: { env: NAME }")
    }
  }

  /// The text as it is written, with the manifest's own variables put in: what comes from elsewhere stays by its name.
  package func written(_ text: String) -> String {
    guard let parsed = try? InterpolationParser.parse(text) else { return text }
    return parsed.parts.map { part in
      switch part {
      case .literal(let literal): return literal
      case .reference(let reference):
        guard case .variable(let name) = reference.name, !environmentVariables.contains(name),
          let value = try? reference.filtered(variables[name] ?? "", what: "")
        else { return "${\(reference.name.text)}" }
        return value
      }
    }.joined()
  }

  /// Runs a reading and tells whether it used the environment.
  package func tracksEnvironment<Result>(_ body: () -> Result) -> (result: Result, used: Bool) {
    let before = usedEnvironment
    usedEnvironment = false
    let result = body()
    let used = usedEnvironment
    usedEnvironment = before || used
    return (result, used)
  }

  private static func use(_ kind: Allowed) -> String {
    switch kind {
    case .run:
      "values of the run belong into `to`, sources, `expect`, `content_type` and headers of transfers"
    case .row: "columns belong into the values of a transfer that has `for_each`"
    case .file: "it belongs into the values of `then`"
    case .notice: "it belongs into the values of `on`"
    case .source: "`${source.…}` belongs into `to` of a fan-out"
    default: "it belongs into the values of a transfer"
    }
  }

  package func uses(_ source: SecretUse.Source, path: String, at mark: YAMLMark?) {
    guard let mark else { return }
    secrets.append(SecretUse(source, path: path, mark: faults.sourceMark(mark)))
  }

  /// The path of a file that a setting names, made absolute: it is relative to the file that it is written in.
  func absolute(_ path: String, at mark: YAMLMark) -> String {
    guard !path.hasPrefix("/") else { return path }
    return RelativePath.normalize((folders[mark.file] ?? directory) + "/" + path)
  }
}
