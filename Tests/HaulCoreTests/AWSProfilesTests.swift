import HTTPClient
import JobLedger
import JobManifest
import JobModel
import Testing
import TestSupport

@testable import HaulCore

struct AWSProfilesTests {
  /// What a profile means, in short.
  private func source(
    _ name: String, credentials: String = "", config: String = ""
  ) throws -> String {
    let fixture = try CoreFixture()
    try fixture.scratch.write(".aws/credentials", credentials)
    try fixture.scratch.write(".aws/config", config)
    return Self.text(try AWSProfiles(fixture.environment).source(name))
  }

  private static func text(_ source: AWSProfiles.Source) -> String {
    switch source {
    case .keys(let section): "keys \(section["aws_access_key_id"] ?? "-")"
    case .command(let words): "command " + words.joined(separator: "|")
    case .role(let section, let source): "role \(section["role_arn"] ?? "-") by \(text(source))"
    }
  }

  @Test(arguments: [
    ("[p]\naws_access_key_id = A\n", "", "keys A"),
    ("", "[profile p]\naws_access_key_id=A\n", "keys A"),
    ("", "[profile \"p\"]\n  \n# note\n; note\nAWS_ACCESS_KEY_ID = A\n", "keys A"),
    // The first file comes before the second.
    ("[p]\naws_access_key_id = A\n", "[profile p]\naws_access_key_id = B\n", "keys A"),
    ("[p]\naws_access_key_id = A\n", "[profile p]\ncredential_process = tool\n", "keys A"),
    // What is indented belongs to another tool's setting.
    ("[p]\ns3 =\n  aws_access_key_id = B\naws_access_key_id = A\n", "", "keys A"),
    (
      "", "[profile p]\nrole_arn = R\nsource_profile = q\n[profile q]\naws_access_key_id = Q\n",
      "role R by keys Q"
    ),
    ("[p]\naws_access_key_id = A\nrole_arn = R\nsource_profile = p\n", "", "role R by keys A"),
  ])
  func means(_ credentials: String, _ config: String, _ expected: String) throws {
    #expect(try source("p", credentials: credentials, config: config) == expected)
  }

  @Test(arguments: [
    ("tool get key", "tool|get|key"),
    ("tool  'a b'  \"c d\"", "tool|a b|c d"),
    ("tool a\\ b '\\' \"\\\"\"", "tool|a b|\\|\""),
    ("tool ''", "tool|"),
    ("tool pre'fix 'x", "tool|prefix x"),
    ("tool $HOME *", "tool|$HOME|*"),
  ])
  func splitsACommandAsAShellDoes(_ line: String, _ words: String) throws {
    #expect(try source("p", config: "[profile p]\ncredential_process = \(line)\n") == "command \(words)")
  }

  @Test(arguments: [
    ("", "no AWS profile"),
    ("[profile p]\nregion = x\n", "neither keys nor"),
    ("[profile p]\nsso_session = s\n", "`sso_session`"),
    ("[profile p]\nmfa_serial = s\n", "`mfa_serial`"),
    ("[profile p]\nrole_arn = R\n", "no `source_profile`"),
    (
      "[profile p]\nrole_arn = R\nsource_profile = q\n[profile q]\nrole_arn = S\nsource_profile = q\naws_access_key_id = Q\n",
      "another role"
    ),
    (
      "[profile p]\nrole_arn = R\nsource_profile = q\n[profile q]\nrole_arn = S\nsource_profile = p\n",
      "another role"
    ),
    ("[profile p]\ncredential_process = 'open\n", "can't be read"),
    ("[profile p]\ncredential_process = tool \\\n", "can't be read"),
  ])
  func rejects(_ config: String, _ part: String) throws {
    let failure = try #require(throws: Failure.self) { try source("p", config: config) }
    #expect(failure.code == .secretUnavailable)
    #expect(failure.message.contains(part), "\(failure.message)")
  }

  @Test func theEnvironmentNamesTheFiles() throws {
    let fixture = try CoreFixture(["AWS_CONFIG_FILE": "~/other"])
    try fixture.scratch.write("other", "[default]\naws_access_key_id = A\n")
    #expect(Self.text(try AWSProfiles(fixture.environment).source("default")) == "keys A")
  }
}
