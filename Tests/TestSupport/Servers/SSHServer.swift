import Foundation

/// An SFTP server that nobody here wrote, over a folder: OpenSSH's sshd, or `rclone serve sftp` (Go's pkg/sftp).
package final class SSHServer: Sendable {
  package enum Make: String, CaseIterable, Sendable { case openssh, rclone }

  package let make: Make
  package let port: Int
  /// What it serves.
  package let folder: String
  package let process: Running
  /// Folder of keys.
  package let own: String
  private let scratch: Scratch

  package static let password = "sftp-pass-of-today"
  package static let environment = ["SFTP_PASSWORD": password]

  /// sshd lets in the user that it runs as, by key; rclone any, by password.
  package var user: String { make == .openssh ? NSUserName() : "haul" }

  /// - Parameters:
  ///   - options: further arguments of rclone.
  ///   - fault: how OpenSSH's server misbehaves.
  package init(_ make: Make, _ bench: Bench, options: [String] = [], fault: SFTPFault? = nil) async throws {
    self.make = make
    scratch = bench.scratch
    own = try bench.scratch.folder("\(make)-\(UUID().uuidString.prefix(6))")
    folder = own + "/files"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for name in ["host", "user"] { try Self.makeKey(own + "/" + name) }
    switch make {
    case .openssh:
      guard let program = Programs.find("sshd") else { throw TestFault("openssh-server is not installed") }
      // sshd gives up its privileges there.
      try FileManager.default.createDirectory(atPath: "/run/sshd", withIntermediateDirectories: true)
      let file = own + "/sshd_config"
      let subsystem = try fault?.subsystem(own, marker: own + "/fault") ?? "internal-sftp"
      try FileManager.default.copyItem(atPath: own + "/user.pub", toPath: own + "/authorized_keys")
      (port, process) = try await Loopback.serve { [own] port in
        try Data(Self.config(own, port: port, subsystem).utf8).write(to: URL(fileURLWithPath: file))
        return try bench.serve(program, ["-D", "-e", "-f", file], folder: own)
      }
    case .rclone:
      let program = try (Venv.python() as NSString).deletingLastPathComponent + "/rclone"
      (port, process) = try await Loopback.serve { [own, folder] port in
        try bench.serve(
          program,
          [
            "serve", "sftp", "--addr", "127.0.0.1:\(port)", "--user", "haul", "--pass", Self.password,
            "--key",
            own + "/host", "--dir-cache-time", "20ms", "--poll-interval", "0", "--cache-dir", own + "/cache",
          ] + options + [folder])
      }
    }
    try knows(own + "/host.pub")
  }

  /// The host keys that the manifests of `endpoint` name.
  package var knownHosts: String { own + "/known_hosts" }

  /// Writes a public key to `known_hosts`; nil leaves that empty.
  package func knows(_ key: String?) throws {
    let line =
      try key.map { "[127.0.0.1]:\(port) " + (try String(contentsOfFile: $0, encoding: .utf8)) } ?? ""
    try line.write(toFile: knownHosts, atomically: true, encoding: .utf8)
  }

  /// `SHA256:…` of its host key.
  package func fingerprint(_ key: String = "host.pub") throws -> String {
    let words = try Sums.shell("ssh-keygen -lf \(own)/\(key)", in: "/").split(separator: " ")
    guard words.count > 1 else { throw TestFault("ssh-keygen tells no fingerprint") }
    return String(words[1])
  }

  package static func makeKey(_ path: String, type: String = "ed25519", passphrase: String = "") throws {
    _ = try Sums.shell("ssh-keygen -q -t \(type) -N '\(passphrase)' -C test -f \(path)", in: "/")
  }

  /// Starts an ssh-agent that has the user's key, or one that never answers.
  ///
  /// - Returns: its socket.
  package func agent(_ bench: Bench, speaks: Bool) async throws -> String {
    let socket = own + "/agent"
    let silent =
      "import socket, sys, time; s = socket.socket(1); s.bind(sys.argv[1]); s.listen(); time.sleep(600)"
    let process =
      speaks
      ? try bench.serve(Programs.find("ssh-agent") ?? "ssh-agent", ["-D", "-a", socket])
      : try bench.serve(Programs.python, ["-c", silent, socket])
    for _ in 0..<1500 where process.isAlive && !FileManager.default.fileExists(atPath: socket) {
      try await Task.sleep(for: .milliseconds(10))
    }
    if speaks { _ = try Sums.shell("SSH_AUTH_SOCK=\(socket) ssh-add -q \(own)/user", in: own) }
    return socket
  }

  /// The URL of what it serves.
  package var url: String { "sftp://127.0.0.1:\(port)" + (make == .openssh ? folder : "") }

  package var login: String {
    make == .openssh
      ? "user: \(user), key_file: \(own)/user" : "user: \(user), password: { env: SFTP_PASSWORD }"
  }

  /// An endpoint in a manifest.
  package func endpoint(_ base: String = "", login: String? = nil, keys: String? = nil) -> String {
    let keys = keys ?? "known_hosts: \"\(knownHosts)\""
    return "{ type: sftp, url: \"\(url + base)\", auth: { ssh: { \(login ?? self.login) } }, \(keys) }"
  }

  /// A fault that comes once has come.
  package var hasErred: Bool { FileManager.default.fileExists(atPath: own + "/fault") }

  /// What is in the folder, by name.
  package func names() -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder))?.sorted() ?? []
  }

  private static func config(_ own: String, port: Int, _ subsystem: String) -> String {
    """
    Port \(port)
    ListenAddress 127.0.0.1
    HostKey \(own)/host
    PidFile none
    AuthorizedKeysFile \(own)/authorized_keys
    StrictModes no
    UsePAM no
    PasswordAuthentication no
    KbdInteractiveAuthentication no
    PermitRootLogin yes
    Subsystem sftp \(subsystem)
    """
  }
}
