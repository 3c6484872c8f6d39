import JobModel
import Posix

/// The shared files of AWS's tools: `credentials` with `[NAME]`, `config` with `[profile NAME]`
/// (docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html).
struct AWSProfiles {
  typealias Section = [String: String]
  private let credentials: [String: Section]
  private let config: [String: Section]
  private let paths: String

  /// Reads the files where the environment says they are, else in `~/.aws`; one that is not there is empty.
  init(_ environment: ProcessEnvironment) {
    let home = environment.home + "/.aws/"
    func path(_ name: String, _ usual: String) -> String {
      let given = environment[name] ?? home + usual
      return given.hasPrefix("~/") ? environment.home + given.dropFirst() : given
    }
    let (first, second) = (
      path("AWS_SHARED_CREDENTIALS_FILE", "credentials"), path("AWS_CONFIG_FILE", "config")
    )
    credentials = Self.sections(first)
    config = Self.sections(second)
    paths = "`\(first)` and `\(second)`"
  }

  /// A profile's keys, the command that gives them, or a role with the profile whose keys assume it; keys of the first
  /// file come before the command.
  indirect enum Source {
    case keys(Section)
    case command([String])
    case role(Section, by: Source)
  }

  /// - Parameter asSource: the profile's own keys are wanted, for the role that it has itself.
  func source(_ name: String, asSource: Bool = false) throws -> Source {
    let first = credentials[name]
    let second = configured(name)
    guard first != nil || second != nil else {
      throw Failure(.secretUnavailable, "there is no AWS profile `\(name)` in \(paths)")
    }
    let section = (second ?? [:]).merging(first ?? [:]) { $1 }
    // Keys beside a role are those that assume it: as they are, they speak for somebody else.
    let strange = [
      "sso_session", "sso_start_url", "mfa_serial", "web_identity_token_file", "credential_source",
    ]
    for key in strange where section[key] != nil {
      throw Failure(
        .secretUnavailable,
        "the AWS profile `\(name)` has a `\(key)`, which haul does not follow; \(Self.command(name))")
    }
    if section["role_arn"] != nil, !asSource {
      guard let other = section["source_profile"] else {
        throw Failure(
          .secretUnavailable,
          "the AWS profile `\(name)` has a `role_arn` and no `source_profile` to assume it")
      }
      // Looked at before it is followed: two profiles that name each other would never end.
      if other != name, credentials[other]?["role_arn"] != nil || configured(other)?["role_arn"] != nil {
        throw Failure(
          .secretUnavailable,
          "the AWS profile `\(name)` has a role that another role assumes, which haul does not follow; \(Self.command(name))"
        )
      }
      return .role(section, by: try source(other, asSource: true))
    }
    if let first, first["aws_access_key_id"] != nil { return .keys(first) }
    if let command = first?["credential_process"] ?? second?["credential_process"] {
      return .command(try Self.words(command, profile: name))
    }
    if let second, second["aws_access_key_id"] != nil { return .keys(second) }
    throw Failure(
      .secretUnavailable,
      "the AWS profile `\(name)` has neither keys nor a `credential_process`; for SSO, \(Self.command(name))"
    )
  }

  /// What the second file has of a profile.
  private func configured(_ name: String) -> Section? {
    config["profile \(name)"] ?? (name == "default" ? config["default"] : nil)
  }

  private static func command(_ profile: String) -> String {
    "write `auth: { aws: { command: [aws, configure, export-credentials, --profile, \(profile)] } }`"
  }

  private static func sections(_ path: String) -> [String: Section] {
    guard let bytes = try? Files.read(path) else { return [:] }
    var found: [String: Section] = [:]
    var name: String?
    for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
      let text = line.trimmed(\.isWhitespace)
      // What is indented belongs to the line before it: settings of another tool.
      if text.isEmpty || text.hasPrefix("#") || text.hasPrefix(";") || line.first?.isWhitespace == true {
        continue
      }
      if text.hasPrefix("[") {
        let words = text.dropFirst().prefix { $0 != "]" }.split(separator: " ").map(String.init)
        name = words.joined(separator: " ").filter { $0 != "\"" && $0 != "'" }
        if let name, found[name] == nil { found[name] = [:] }
      } else if let name, let mark = text.firstIndex(of: "=") {
        let key = text[..<mark].trimmed(\.isWhitespace).lowercased()
        found[name]?[key] = text[text.index(after: mark)...].trimmed(\.isWhitespace)
      }
    }
    return found
  }

  /// A command line in its words, quotes as a shell has them; nothing is expanded.
  private static func words(_ line: String, profile: String) throws -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    var isEscaped = false
    for character in line {
      if isEscaped {
        word = (word ?? "") + String(character)
        isEscaped = false
      } else if character == "\\", quote != "'" {
        isEscaped = true
      } else if let open = quote {
        if character == open { quote = nil } else { word = (word ?? "") + String(character) }
      } else if character == "\"" || character == "'" {
        quote = character
        word = word ?? ""
      } else if character.isWhitespace {
        if let done = word { words.append(done) }
        word = nil
      } else {
        word = (word ?? "") + String(character)
      }
    }
    if let word { words.append(word) }
    guard quote == nil, !isEscaped, !words.isEmpty else {
      throw Failure(
        .secretUnavailable, "the `credential_process` of the AWS profile `\(profile)` can't be read")
    }
    return words
  }
}
