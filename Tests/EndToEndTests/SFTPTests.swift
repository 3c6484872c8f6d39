import Foundation
import TestSupport
import Testing

/// SFTP against servers that nobody here wrote: OpenSSH's sshd and `rclone serve sftp`, which takes files from their beginning
/// to their end only.
@Suite(.turns)
struct SFTPTests {
  typealias Make = SSHServer.Make
  private static let environment = SSHServer.environment
  private static let names = [
    "plain.bin", "a b/ü%#?&.bin", "a b/deep/er/+;=@,$!.bin", "e\u{301}/\u{e9}.bin", "empty",
  ]

  private static let defaults = ", chunk_size: 256KiB"

  private func job(_ endpoint: String, _ transfers: String...) -> String {
    ServedFolder.job(endpoint, transfers, defaults: Self.defaults)
  }

  private func files(_ server: SSHServer) throws -> [String: String] {
    try ServedFolder.files(server.folder)
  }

  private func served(_ server: SSHServer, _ bench: Bench) -> ServedFolder {
    ServedFolder(
      bench: bench, folder: server.folder, environment: Self.environment, endpoint: { server.endpoint($0) },
      defaults: Self.defaults)
  }

  @Test(arguments: Make.allCases) func aTreeThereAndBack(_ make: Make) async throws {
    let bench = try Bench()
    let server = try await SSHServer(make, bench)
    let served = served(server, bench)
    try served.make(Self.names, sizes: 600_000)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_234_567_890), .posixPermissions: 0o640],
      ofItemAtPath: bench.job + "/up/plain.bin")
    let run = try await served.up(Self.names)
    for transfer in run.transfers {
      #expect(transfer["protocol"].string == "sftp")
      // An ordinary one's is that of its capabilities, with its path.
      let shared = run.report["capabilities"][transfer["capabilities"].string ?? ""]["url"].string
      let url = transfer["url"].string ?? shared
      #expect(url?.hasPrefix("sftp://127.0.0.1:\(server.port)") == true)
    }
    let kept = try FileManager.default.attributesOfItem(atPath: server.folder + "/in/new/plain.bin")
    #expect((kept[.modificationDate] as? Date)?.timeIntervalSince1970 == 1_234_567_890)
    if make == .openssh { #expect(kept[.posixPermissions] as? Int == 0o640) }
    try await served.down(Self.names, ", mtime: source")
    let time = try FileManager.default.attributesOfItem(atPath: bench.job + "/down/plain.bin")[
      .modificationDate]
    #expect((time as? Date)?.timeIntervalSince1970 == 1_234_567_890)
  }

  /// Whole seconds are all that SFTP keeps of a time.
  @Test(
    arguments: [("[mtime!, mode!]", ["mtime", "mode"]), ("[mtime]", ["mtime"]), ("none", [])]
      as [(String, [String])])
  func aTimeWithAFractionIsKept(_ preserve: String, _ preserved: [String]) async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench)
    try bench.source("a.bin", size: 5000)
    _ = try Sums.shell("touch -d @1234567890.999999999 a.bin; chmod 640 a.bin", in: bench.job)
    let run = try await bench.run(
      job(server.endpoint(), "{ id: up, upload: a.bin, to: \"files:a.bin\", preserve: \(preserve) }"))
    #expect(run.state("up") == "completed", "\(run.errors)")
    #expect(run["up"]["preserved"].array.compactMap(\.string) == preserved)
    #expect(run["up"]["lost"].array.isEmpty)
    let kept = try FileManager.default.attributesOfItem(atPath: server.folder + "/a.bin")
    #expect((kept[.modificationDate] as? Date)?.timeIntervalSince1970 == 1_234_567_890)
  }

  /// The source's time and mode change, its bytes do not: where they may not be lost, it is moved again.
  @Test func aTimeAndAModeThatChange() async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench)
    try bench.source("a.bin", size: 5000)
    _ = try Sums.shell("touch -d @1234567890 a.bin; chmod 640 a.bin", in: bench.job)
    let first = try await bench.run(
      job(
        server.endpoint(), "{ id: asked, upload: a.bin, to: \"files:asked\", preserve: [mtime, mode] }",
        "{ id: demanded, upload: a.bin, to: \"files:demanded\", preserve: [mtime!, mode!] }"))
    #expect(first.status == 0, "\(first.errors)")
    for (change, state, preserved, lost) in [
      ("touch -d @1300000000 a.bin", "up_to_date duplicate", ["mode"], ["mtime"]),
      ("chmod 600 a.bin", "up_to_date", [], ["mtime", "mode"]),
      ("chmod 640 a.bin", "up_to_date", ["mode"], ["mtime"]),
      ("true", "up_to_date", ["mode"], ["mtime"]),
    ] as [(String, String, [String], [String])] {
      _ = try Sums.shell(change, in: bench.job)
      let run = try await bench.run(nil)
      #expect(run.status == 0 && run.faults == "", "\(run.errors)")
      #expect(run.state("asked") == state, "\(change)")
      #expect(run["asked"]["preserved"].array.compactMap(\.string) == preserved, "\(change)")
      #expect(run["asked"]["lost"].array.compactMap(\.string) == lost, "\(change)")
      #expect(run.state("demanded") == (change == "true" ? "up_to_date" : "completed"), "\(change)")
      #expect(run["demanded"]["preserved"].array.compactMap(\.string) == ["mtime", "mode"], "\(change)")
    }
    let kept = try FileManager.default.attributesOfItem(atPath: server.folder + "/demanded")
    #expect((kept[.modificationDate] as? Date)?.timeIntervalSince1970 == 1_300_000_000)
    #expect(kept[.posixPermissions] as? Int == 0o640)
  }

  @Test(arguments: Make.allCases) func whatIsThere(_ make: Make) async throws {
    let bench = try Bench()
    let server = try await SSHServer(make, bench)
    try await served(server, bench).replaces()
    // A folder is never replaced.
    try FileManager.default.createDirectory(
      atPath: server.folder + "/in/sub/deep", withIntermediateDirectories: true)
    let folder = try await bench.run(
      job(server.endpoint(), "{ id: other, upload: b.bin, to: \"files:in/sub\" }"),
      environment: Self.environment)
    #expect(folder.state("other") == "failed DESTINATION_EXISTS", "\(folder.errors)")
  }

  /// The server is asked nothing, and is told of nobody.
  private func refused(
    _ server: SSHServer, _ bench: Bench, _ endpoint: String, _ state: String, _ words: String...,
    environment: [String: String] = SSHServer.environment
  ) async throws {
    try bench.source("a.bin", size: 5000)
    let run = try await bench.run(
      job(endpoint, "{ id: up, upload: a.bin, to: \"files:a.bin\" }"), environment: environment)
    #expect(run.state("up") == state, "\(run.errors)")
    for word in words { #expect(run.errors.contains(word), "\(word): \(run.errors)") }
    #expect(try files(server).isEmpty)
  }

  @Test func unprovenServersAreRefused() async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench)
    let seen = try server.fingerprint()
    try server.knows(nil)
    try await refused(
      server, bench, server.endpoint(), "failed TLS_FAILED", "is unknown", seen, "nothing was sent")
    try SSHServer.makeKey(server.own + "/stranger")
    try server.knows(server.own + "/stranger.pub")
    try await refused(
      server, bench, server.endpoint(), "failed TLS_FAILED", "another key than is known", seen,
      try server.fingerprint("stranger.pub"))
    let other = "host_key: \"\(try server.fingerprint("stranger.pub"))\""
    try await refused(
      server, bench, server.endpoint(keys: other), "failed TLS_FAILED", "another key than `host_key`", seen)
    let log = server.process.errors
    #expect(!log.contains("Accepted"), "\(log)")

    try bench.source("a.bin", size: 5000)
    let run = try await bench.run(
      job(server.endpoint(keys: "host_key: \"\(seen)\""), "{ id: up, upload: a.bin, to: \"files:a.bin\" }"))
    #expect(run.state("up") == "completed", "\(run.errors)")
  }

  @Test func keysThatCannotBeUsed() async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench)
    func endpoint(_ key: String, _ more: String = "") -> String {
      server.endpoint(login: "user: \(server.user), key_file: \(server.own)/\(key)\(more)")
    }
    func run(_ endpoint: String, _ environment: [String: String] = [:]) async throws -> HaulRun {
      try bench.source("a.bin", size: 5000)
      return try await bench.run(
        job(endpoint, "{ id: up, upload: a.bin, to: \"files:a.bin\" }"), environment: environment)
    }
    try SSHServer.makeKey(server.own + "/open")
    guard chmod(server.own + "/open", 0o644) == 0 else { throw TestFault("chmod: errno \(errno)") }
    let readable = try await run(endpoint("open"))
    #expect(readable.status != 0 && readable.errors.contains("can be read by others"), "\(readable.errors)")
    let missing = try await run(endpoint("none"))
    #expect(missing.status != 0 && missing.errors.contains("does not exist"), "\(missing.errors)")
    try SSHServer.makeKey(server.own + "/locked", passphrase: "secret-words")
    let locked = try await run(endpoint("locked"))
    #expect(locked.status != 0 && locked.errors.contains("is encrypted"), "\(locked.errors)")
    let wrong = try await run(endpoint("locked", ", passphrase: { env: WORDS }"), ["WORDS": "other"])
    #expect(
      wrong.state("up") == "failed UNAUTHORIZED" && wrong.errors.contains("passphrase"), "\(wrong.errors)")
    let foreign = try await run(endpoint("locked", ", passphrase: { env: WORDS }"), ["WORDS": "secret-words"])
    #expect(foreign.state("up") == "failed UNAUTHORIZED", "\(foreign.errors)")
    #expect(foreign.errors.contains("refused the login by `key_file`"), "\(foreign.errors)")
    #expect(!foreign.errors.contains("ssh-rsa"), "\(foreign.errors)")
    try SSHServer.makeKey(server.own + "/rsa", type: "rsa")
    _ = try Sums.shell("cat rsa.pub >> authorized_keys", in: server.own)
    let rsa = try await run(endpoint("rsa"))
    #expect(
      rsa.state("up") == "completed" || rsa.errors.contains("ssh-keygen -t ed25519"),
      "libssh2 from 1.11 on signs it otherwise: \(rsa.errors)")
    #expect(try files(server).isEmpty)
    _ = try Sums.shell("cat locked.pub >> authorized_keys", in: server.own)
    let right = try await run(endpoint("locked", ", passphrase: { env: WORDS }"), ["WORDS": "secret-words"])
    #expect(right.state("up") == "completed", "\(right.errors)")
  }

  /// The agent opens what is encrypted; one that does not answer holds nobody up for ever.
  @Test(arguments: [true, false]) func agents(_ speaks: Bool) async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench)
    let environment = ["SSH_AUTH_SOCK": try await server.agent(bench, speaks: speaks)]
    try SSHServer.makeKey(server.own + "/locked", passphrase: "secret-words")
    try bench.source("a.bin", size: 5000)
    let login = "user: \(server.user), agent: true, key_file: \(server.own)/locked"
    let timeouts = "timeouts: { connect: 1s, request: \(speaks ? 60 : 1)s }, retry: { attempts: 1 }"
    let run = try await bench.run(
      job(
        server.endpoint(login: login),
        "{ id: up, upload: a.bin, to: \"files:a.bin\", policy: { \(timeouts) } }"),
      environment: environment)
    #expect(run.state("up") == (speaks ? "completed" : "paused retries TIMEOUT"), "\(run.errors)")
  }

  @Test func aWrongPasswordIsTold() async throws {
    let bench = try Bench()
    let server = try await SSHServer(.rclone, bench)
    try await refused(
      server, bench, server.endpoint(), "failed UNAUTHORIZED", "refused the login by `password`",
      environment: ["SFTP_PASSWORD": "sftp-pass-of-yesterday"])
  }

  @Test func manifestsThatCannotBe() async throws {
    let bench = try Bench()
    let cases = [
      (
        "{ type: sftp, url: \"https://h/\", auth: { ssh: { user: a, agent: true } } }",
        "is not an absolute sftp URL"
      ),
      (
        "{ type: sftp, url: \"sftp://a@h/\", auth: { ssh: { user: a, agent: true } } }",
        "holds a user or a password"
      ),
      ("{ type: sftp, url: \"sftp://h/\" }", "needs `auth`"),
      ("{ type: sftp, url: \"sftp://h/\", auth: { ssh: { user: a } } }", "names no way to log in"),
      ("{ type: sftp, url: \"sftp://h/\", auth: { bearer: { env: T } } }", "take `auth: { ssh: … }` alone"),
      (
        "{ type: http, url: \"https://h/\", auth: { ssh: { user: a, agent: true } } }",
        "logs in to `sftp` endpoints only"
      ),
      (
        "{ type: sftp, url: \"sftp://h/\", host_key: \"MD5:00\", auth: { ssh: { user: a, agent: true } } }",
        "is not the fingerprint of a host key"
      ),
    ]
    for (endpoint, words) in cases {
      try bench.writeJob(job(endpoint, "{ id: one, download: \"files:a\", to: a }"))
      let check = try await bench.haul(["check", "job.yaml"])
      #expect(check.status == 65 && check.errors.contains(words), "\(words): \(check.errors)")
    }
    let required = job(
      "{ type: sftp, url: \"sftp://h/\", auth: { ssh: { user: a, agent: true } } }",
      "{ id: one, upload: a, to: \"files:a\", verify: required }")
    try bench.writeJob(required)
    let check = try await bench.haul(["check", "job.yaml"])
    #expect(check.status == 65, "\(check.errors)")
  }

  /// Links are named and left out; what is missing is told.
  @Test func whatIsMissing() async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench)
    try await served(server, bench).tellsWhatIsMissing()
    let down = try await bench.run(
      job(server.endpoint(), "{ id: down, download: \"files:a.bin\", to: b.bin }"))
    #expect(down.state("down") == "failed NOT_FOUND", "\(down.errors)")
    try FileManager.default.createDirectory(atPath: server.folder + "/d", withIntermediateDirectories: true)
    try SeededFile.make(server.folder + "/d/real", size: 10)
    try FileManager.default.createSymbolicLink(atPath: server.folder + "/d/link", withDestinationPath: "real")
    let listed = try await bench.run(job(server.endpoint(), "{ id: all, download: \"files:d/\", to: d/ }"))
    #expect(listed.status == 0 && listed.totals["completed"].int == 1, "\(listed.errors)")
    let told = listed.report["diagnostics"].array.compactMap { $0["message"].string }
    #expect(told.contains("`files:d/link` is a symbolic link and is left out"), "\(told)")
  }

  /// From one SFTP server to another, and a policy that denies the address.
  @Test func copiesAndPolicies() async throws {
    let bench = try Bench()
    let (one, other) = (try await SSHServer(.openssh, bench), try await SSHServer(.rclone, bench))
    try SeededFile.make(one.folder + "/a.bin", size: 3_000_007)
    func manifest(_ policy: String) -> String {
      """
      version: 1
      job: relay
      endpoints: { one: \(one.endpoint()), other: \(other.endpoint()) }
      defaults: { chunk_size: 1MiB, policy: { \(policy) } }
      transfers: [{ id: one, copy: "one:a.bin", to: "other:in/b.bin" }]
      """
    }
    let denied = try await bench.run(
      manifest("network: { addresses: { deny: [loopback] } }"), environment: Self.environment)
    #expect(denied.state("one") == "failed POLICY_DENIED", "\(denied.errors)")
    let proxied = try await bench.run(
      manifest("network: { proxy: \"http://127.0.0.1:9\" }"), environment: Self.environment)
    #expect(proxied.state("one") == "failed POLICY_DENIED", "\(proxied.errors)")
    #expect(proxied.errors.contains("SSH goes through none"), "\(proxied.errors)")
    let run = try await bench.run(manifest("chunks_in_flight: 2"), environment: Self.environment)
    #expect(run.state("one") == "completed", "\(run.errors)")
    #expect(try Sums.file(one.folder + "/a.bin") == Sums.file(other.folder + "/in/b.bin"))
  }

  @Test func aRateIsKept() async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench)
    try bench.source("a.bin", size: 2 << 20)
    let began = Date()
    let run = try await bench.run(
      job(server.endpoint(), "{ id: up, upload: a.bin, to: \"files:a.bin\", policy: { bandwidth: 1MiB/s } }"))
    #expect(run.state("up") == "completed", "\(run.errors)")
    #expect(Date().timeIntervalSince(began) > 1.2)
    try bench.writeJob(
      job(
        server.endpoint(),
        "{ id: down, download: \"files:a.bin\", to: b.bin, policy: { bandwidth: 64KiB/s } }"))
    let running = try bench.start(bench.runArguments())
    try await RemoteKills.wait { running.isAlive && bench.parts().isEmpty }
    running.signal(SIGINT)
    #expect(try await running.wait().status != 0, "it would have taken half a minute")
    #expect(!bench.exists("b.bin"))
  }

  @Test(arguments: ["replace", "fail"]) func kills(_ ifExists: String) async throws {
    let size = (4 << 20) + 5
    try await RemoteKills.torture("sftp upload, \(ifExists)", cost: 3 << 20) { seed in
      let bench = try Bench()
      let server = try await SSHServer(.openssh, bench)
      let folder = server.folder + "/in"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try bench.source("a.bin", size: size, seed: seed)
      try bench.writeJob(
        """
        version: 1
        job: killed
        endpoints: { files: \(server.endpoint()) }
        defaults: { chunk_size: 512KiB, policy: { bandwidth: 8MiB/s } }
        transfers: [{ id: one, upload: a.bin, to: "files:in/one.bin", if_exists: \(ifExists) }]
        """)
      let names = { (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] }
      return RemoteKills.Round(
        bench: bench, span: 700, isBegun: { !names().isEmpty },
        isOver: { names().contains("one.bin") },
        settle: { run throws -> Int64 in
          #expect(try Sums.file(folder + "/one.bin") == Sums.file(bench.job + "/a.bin"))
          #expect(names() == ["one.bin"])
          return run["one"]["bytes"]["discarded"].int ?? 0
        })
    }
  }

  @Test func downloadKills() async throws {
    let size = (4 << 20) + 5
    try await RemoteKills.torture("sftp download", cost: 4 << 20) { seed in
      let bench = try Bench()
      let server = try await SSHServer(.openssh, bench)
      try SeededFile.make(server.folder + "/a.bin", size: size, seed: seed)
      try bench.writeJob(
        """
        version: 1
        job: killed
        endpoints: { files: \(server.endpoint()) }
        defaults: { chunk_size: 512KiB, policy: { bandwidth: 8MiB/s } }
        transfers: [{ id: one, download: "files:a.bin", to: one.bin }]
        """)
      return RemoteKills.Round(
        bench: bench, span: 700, isBegun: { !bench.parts().isEmpty }, isOver: { bench.exists("one.bin") },
        settle: { run throws -> Int64 in
          #expect(try Sums.file(server.folder + "/a.bin") == Sums.file(bench.job + "/one.bin"))
          return run["one"]["bytes"]["discarded"].int ?? 0
        })
    }
  }

  /// A server that starts the subsystem, and never says that it is there.
  @Test func aServerThatSaysNothing() async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench, fault: .silent)
    try bench.source("a.bin", size: 5000)
    let run = try await bench.run(
      job(
        server.endpoint(),
        "{ id: up, upload: a.bin, to: \"files:a.bin\", policy: { timeouts: { request: 1s }, retry: { attempts: 1 } } }"
      ))
    #expect(run.state("up") == "paused retries TIMEOUT", "\(run.errors)")
  }

  /// A connection that breaks amid the greeting, the login or the start of the subsystem is no refusal.
  @Test func connectionsThatBreakBeforeTheyAreThere() async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench)
    let relay = try await CuttingRelay(bench, to: server.port, step: 150)
    try bench.source("a.bin", size: 5000)
    let endpoint = server.endpoint(keys: "host_key: \"\(try server.fingerprint())\"")
      .replacing(":\(server.port)", with: ":\(relay.port)")
    let manifest = job(
      endpoint, "{ id: up, upload: a.bin, to: \"files:a.bin\", policy: { retry: { attempts: 1 } } }")
    var states: [String] = []
    while states.last != "completed", states.count < 60 {
      let run = try await bench.run(manifest)
      states.append(run.state("up"))
      #expect(run.state("up") == "completed" || run.status == 75, "cut \(states.count): \(run.errors)")
    }
    #expect(states.count > 10 && states.last == "completed", "\(states)")
  }

  /// A server that breaks down, and has not kept all that it acknowledged: the file has its size, and a hole.
  @Test func whatABrokenServerForgotIsSentAgain() async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench, fault: .forgetful)
    try bench.source("a.bin", size: (5 * 256 << 10) + 7, seed: 1)
    let run = try await bench.run(job(server.endpoint(), "{ id: up, upload: a.bin, to: \"files:a.bin\" }"))
    #expect(server.hasErred && run.state("up") == "completed", "\(run.errors)")
    #expect(try files(server) == ["a.bin": Sums.file(bench.job + "/a.bin")])
  }

  /// All chunks go over one handle: other connections would bring nothing, and a login may take seconds.
  @Test func anUploadLogsInOnce() async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench)
    try bench.source("a.bin", size: 5 << 20)
    let run = try await bench.run(job(server.endpoint(), "{ id: up, upload: a.bin, to: \"files:a.bin\" }"))
    #expect(run.state("up") == "completed", "\(run.errors)")
    let log = server.process.errors
    #expect(log.components(separatedBy: "Accepted publickey").count == 2, "\(log)")
  }

  /// What was read back is not read again, however often the line breaks: each run of one try comes further.
  @Test func whatWasReadBackIsKept() async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench, fault: .brokenReads)
    try bench.source("a.bin", size: 168 << 20, seed: 1)
    try bench.writeJob(
      """
      version: 1
      job: ssh
      endpoints: { files: \(server.endpoint()) }
      defaults: { chunk_size: 8MiB, policy: { retry: { attempts: 1 } } }
      transfers: [{ id: up, upload: a.bin, to: "files:a.bin" }]
      """)
    let running = try bench.start(bench.runArguments())
    try await RemoteKills.wait { running.isAlive && !server.hasErred }
    running.signal(SIGKILL)
    try await running.wait()
    var states: [String] = []
    for _ in 0..<4 where states.last != "completed" {
      states.append(try await bench.run(nil).state("up"))
    }
    #expect(states.last == "completed" && states.count > 1, "\(states)")
    #expect(try files(server) == ["a.bin": Sums.file(bench.job + "/a.bin")])
  }

  /// A temporary name that goes while what is there is read back, or that another file takes: the upload begins anew, and sends
  /// again what that file lacks.
  @Test(arguments: [SFTPFault.removedAmid, .replacedAmid])
  func aTemporaryNameThatIsLostAmidTheReading(_ fault: SFTPFault) async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench, fault: fault)
    try bench.source("a.bin", size: (4 << 20) + 7, seed: 1)
    try bench.writeJob(
      job(server.endpoint(), "{ id: up, upload: a.bin, to: \"files:a.bin\", policy: { bandwidth: 2MiB/s } }"))
    let running = try bench.start(bench.runArguments())
    let there = { () -> Int in
      let name = server.names().first ?? "none"
      let facts = try? FileManager.default.attributesOfItem(atPath: server.folder + "/" + name)
      return (facts?[.size] as? NSNumber)?.intValue ?? 0
    }
    try await RemoteKills.wait { running.isAlive && there() < 2 << 20 }
    running.signal(SIGKILL)
    try await running.wait()
    let run = try await bench.run(nil)
    #expect(server.hasErred && run.state("up") == "completed", "\(run.errors)")
    #expect(try files(server) == ["a.bin": Sums.file(bench.job + "/a.bin")])
  }

  /// A server that can't rename over a file: what was put aside does not stay, whether the connection or haul itself ends
  /// behind the rename.
  @Test(arguments: [SFTPFault.lostRename, .stuckRename])
  func nothingIsLeftOfTheOldFile(_ fault: SFTPFault) async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench, fault: fault)
    try SeededFile.make(server.folder + "/a.bin", size: 700_000, seed: 1)
    try bench.source("a.bin", size: 600_000, seed: 2)
    try bench.writeJob(job(server.endpoint(), "{ id: up, upload: a.bin, to: \"files:a.bin\" }"))
    if fault == .stuckRename {
      let running = try bench.start(bench.runArguments())
      try await RemoteKills.wait { running.isAlive && !server.hasErred }
      running.signal(SIGKILL)
      try await running.wait()
      #expect(server.names().count == 2, "the old file is there still")
    }
    let run = try await bench.run(nil)
    #expect(server.hasErred && run.state("up") == "completed", "\(run.errors)")
    #expect(server.names() == ["a.bin"])
    #expect(try files(server) == ["a.bin": Sums.file(bench.job + "/a.bin")])
  }

  /// Another client's file of the same size and time, which came just before the upload was to have its name, is not taken for it.
  @Test(arguments: ["fail", "keep"]) func aRivalWithTheSameTime(_ ifExists: String) async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench, fault: .rival)
    try bench.source("a.bin", size: 600_000)
    let run = try await bench.run(
      job(server.endpoint(), "{ id: up, upload: a.bin, to: \"files:a.bin\", if_exists: \(ifExists) }"))
    #expect(server.hasErred)
    #expect(run.state("up") == (ifExists == "fail" ? "failed DESTINATION_EXISTS" : "skipped exists"))
    #expect(try Data(contentsOf: URL(fileURLWithPath: server.folder + "/a.bin")) == Data(count: 600_000))
  }

  /// A file that goes on behind the size that is told of it is not cut, and one that is said to be empty is read.
  @Test func sizesThatAreTooSmall() async throws {
    let bench = try Bench()
    let (one, other) = (
      try await SSHServer(.openssh, bench, fault: .understates), try await SSHServer(.openssh, bench)
    )
    try SeededFile.make(one.folder + "/one", size: 1)
    try SeededFile.make(one.folder + "/many", size: 700_000)
    let run = try await bench.run(
      """
      version: 1
      job: sizes
      endpoints: { one: \(one.endpoint()), other: \(other.endpoint()) }
      defaults: { chunk_size: 256KiB }
      transfers:
        - { id: empty, download: "one:one", to: one }
        - { id: cut, download: "one:many", to: many }
        - { id: copied-empty, copy: "one:one", to: "other:one" }
        - { id: copied-cut, copy: "one:many", to: "other:many" }
      """)
    #expect(run.state("empty") == "completed", "\(run.errors)")
    #expect(try Sums.file(bench.job + "/one") == Sums.file(one.folder + "/one"))
    for id in ["cut", "copied-empty", "copied-cut"] {
      #expect(run.state(id) == "failed REMOTE_CHANGED", "\(id): \(run.errors)")
    }
    #expect(!bench.exists("many") && !other.names().contains("many") && !other.names().contains("one"))
  }

  /// A server that tells no permissions, and so not what is a folder.
  @Test func aFolderWithoutPermissions() async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench, fault: .noModes)
    try FileManager.default.createDirectory(atPath: server.folder + "/d/s", withIntermediateDirectories: true)
    for name in ["a.bin", "s/b.bin"] { try SeededFile.make(server.folder + "/d/" + name, size: 1000) }
    let run = try await bench.run(job(server.endpoint(), "{ id: all, download: \"files:d/\", to: d/ }"))
    #expect(run.status == 0 && run.totals["completed"].int == 2, "\(run.errors)")
    #expect(bench.exists("d/a.bin") && bench.exists("d/s/b.bin"))
  }

  /// A folder whose end is told by no name at all.
  @Test func aFolderWithoutAnEnd() async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench, fault: .endlessFolder)
    try FileManager.default.createDirectory(atPath: server.folder + "/d", withIntermediateDirectories: true)
    try SeededFile.make(server.folder + "/d/a.bin", size: 10)
    try bench.writeJob(job(server.endpoint(), "{ id: all, download: \"files:d/\", to: d/ }"))
    let plan = try await bench.haul(["plan", "job.yaml"])
    #expect(plan.status != 0 && plan.errors.contains("answered with something else"), "\(plan.errors)")
  }

  @Test(arguments: Make.allCases) func nothingIsLeftOfAnAbandonedUpload(_ make: Make) async throws {
    let bench = try Bench()
    try await served(try await SSHServer(make, bench), bench).keepsNothingOfAnAbandonedUpload()
  }
}
