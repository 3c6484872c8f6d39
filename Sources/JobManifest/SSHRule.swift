internal import JobModel
internal import ManifestFields

/// `auth.ssh`: a user, and one way or several to log in.
enum SSHRule {
  private static let shape = KeyShape(
    name: "`ssh`", keys: ["user", "key_file", "passphrase", "agent", "password"])

  static func read(_ parent: Fields) -> SSHAuthentication? {
    guard let fields = parent.fields("ssh", shape) else { return nil }
    fields.require("user", hint: "the name to log in as")
    let user = fields.text("user", allowed: [])
    let file = fields.file("key_file", allowed: [])
    if let file {
      fields.scope.uses(.keyFile(file), path: fields.path("key_file"), at: fields.keyMark("key_file"))
    }
    let passphrase = SecretRule.read("passphrase", in: fields)
    let agent = fields.bool("agent")
    let password = SecretRule.read("password", in: fields)
    if fields.has("passphrase"), !fields.has("key_file") {
      fields.error("`passphrase` opens a `key_file`, and there is none", at: "passphrase")
    }
    if !fields.has("key_file"), !fields.has("password"), agent != true {
      parent.error(
        "`ssh` names no way to log in", at: "ssh",
        hint: "`key_file: PATH`, `agent: true` or `password: { env: NAME }`")
    }
    guard let user else { return nil }
    var login = SSHAuthentication(user: user)
    (login.keyFile, login.passphrase, login.password) = (file, passphrase, password)
    login.usesAgent = agent ?? false
    return login
  }

  /// What is wrong with an endpoint's `auth` by its kind.
  static func check(_ authentication: Authentication?, isReachedBySSH: Bool, _ type: String, _ fields: Fields)
  {
    switch (authentication, isReachedBySSH) {
    case (.ssh?, true), (nil, false): break
    case (.ssh?, false):
      fields.error(
        "`ssh` logs in to `sftp` endpoints only", at: "auth", hint: "like `auth: { bearer: { env: NAME } }`")
    case (nil, true) where fields.has("auth"): break
    case (_, true):
      let hint = "auth: { ssh: { user: NAME, key_file: PATH } }"
      if fields.has("auth") {
        fields.error("`\(type)` endpoints take `auth: { ssh: … }` alone", at: "auth", hint: hint)
      } else {
        fields.require("auth", hint: hint)
      }
    case (_, false): break
    }
  }
}
