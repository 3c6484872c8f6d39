internal import JobModel
internal import ManifestFields
internal import YAML

/// `auth` of an endpoint.
enum AuthRule {
  private static let shape = KeyShape(
    name: "`auth`", keys: ["bearer", "basic", "header", "netrc", "aws", "oauth2", "ssh", "none"])
  private static let forms = "one of bearer, basic, header, netrc, aws, oauth2, ssh, or `auth: none`"

  static func read(_ parent: Fields) -> Authentication? {
    guard let node = parent.node("auth") else { return nil }
    if let scalar = node.scalar, !scalar.isMissing {
      if scalar.text == "none" { return Authentication.none }
      parent.scope.faults.secretError(
        "`auth` says how to authenticate, never the secret itself", at: node.mark,
        hint: "like `auth: { bearer: { env: NAME } }`, or `auth: none`")
      return nil
    }
    guard let fields = parent.fields("auth", shape) else { return nil }
    let given = shape.keys.filter(fields.has)
    guard given.count == 1 else {
      // Other keys have been told of.
      if given.count > 1 || node.mapping?.allSatisfy({ $0.key.hasPrefix("x-") }) == true {
        parent.error("`auth` takes exactly one form", at: "auth", hint: forms)
      }
      return nil
    }
    switch given[0] {
    case "bearer": return SecretRule.read("bearer", in: fields).map { .bearer($0) }
    case "basic": return basic(fields)
    case "header": return header(fields)
    case "aws":
      guard let credentials = aws(fields) else { return nil }
      if credentials == .environment {
        fields.scope.uses(.awsEnvironment, path: fields.path("aws"), at: fields.keyMark("aws"))
      }
      return .aws(credentials)
    case "ssh": return SSHRule.read(fields).map { .ssh($0) }
    case "oauth2": return OAuthRule.read(fields).map { .oauth2($0) }
    case "netrc":
      guard let isOn = fields.bool("netrc") else { return nil }
      return isOn ? .netrc : Authentication.none
    default:
      guard let isOn = fields.bool("none") else { return nil }
      if !isOn { fields.error("`none` is `true` or not there", at: "none", hint: "write `auth: none`") }
      return Authentication.none
    }
  }

  private static func basic(_ parent: Fields) -> Authentication? {
    let shape = KeyShape(name: "`basic`", keys: ["user", "password"])
    guard let fields = parent.fields("basic", shape) else { return nil }
    fields.require("user", "password")
    let user = fields.value("user", allowed: []) { text throws(ValueFault) in
      guard !text.contains(":") else { throw ValueFault("a user's name has no `:` (RFC 7617)") }
      return text
    }
    let password = SecretRule.read("password", in: fields)
    guard let user, let password else { return nil }
    return .basic(user: user, password: password)
  }

  private static func header(_ parent: Fields) -> Authentication? {
    let shape = KeyShape(name: "`header`", keys: ["name", "value"])
    guard let fields = parent.fields("header", shape) else { return nil }
    fields.require("name", "value")
    let name = fields.value("name", allowed: [], HeaderRule.name)
    let value = SecretRule.read("value", in: fields)
    guard let name, let value else { return nil }
    return .header(name: name, value: value)
  }

  /// A text, or a reference.
  private static func keyID(_ fields: Fields) -> TextOrSecret? {
    if fields.node("access_key_id")?.mapping != nil {
      return SecretRule.read("access_key_id", in: fields).map { .secret($0) }
    }
    return fields.text("access_key_id", allowed: []).map { .text($0) }
  }

  private static func aws(_ parent: Fields) -> AWSCredentials? {
    let keys = ["profile", "access_key_id", "secret_access_key", "session_token", "env", "command"]
    guard let fields = parent.fields("aws", KeyShape(name: "`aws`", keys: keys)) else {
      return nil
    }
    let forms = ["profile", "access_key_id", "env", "command"].filter(fields.has)
    let hasKeys = fields.has("secret_access_key") || fields.has("session_token")
    guard forms.count == 1, !hasKeys || forms[0] == "access_key_id" else {
      parent.error(
        "`aws` takes exactly one form", at: "aws",
        hint: "{ profile }, { access_key_id, secret_access_key }, { env: true } or { command: [argv…] }")
      return nil
    }
    switch forms[0] {
    case "profile": return fields.text("profile", allowed: []).map { .profile($0) }
    case "env":
      guard let isOn = fields.bool("env") else { return nil }
      if !isOn { fields.error("`env` is `true` here", at: "env") }
      return .environment
    case "command": return SecretRule.command(fields).map { .command($0) }
    default:
      fields.require("secret_access_key")
      let id = keyID(fields)
      let secret = SecretRule.read("secret_access_key", in: fields)
      let token = SecretRule.read("session_token", in: fields)
      guard let id, let secret else { return nil }
      return .keys(accessKeyID: id, secretAccessKey: secret, sessionToken: token)
    }
  }
}
