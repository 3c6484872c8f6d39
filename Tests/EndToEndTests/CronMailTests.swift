import Foundation
import TestSupport
import Testing

/// What a test mounts over the machine's own folders.
private enum Overlay {
  /// Tried once: root in a container may lack the right, or what lies below may carry no overlay.
  static let isAllowed: Bool = {
    guard let scratch = try? Scratch() else { return false }
    let mount =
      "mount -t overlay overlay -o lowerdir=/etc,upperdir=up,workdir=work /etc && mount -t tmpfs tmpfs /run"
    let command = "mkdir up work && unshare -m --propagation private sh -c '\(mount)'"
    return (try? Sums.shell(command, in: scratch.path)) != nil
  }()
}

/// A real cron with the line that docs/operations.md shows, and a sendmail that only writes to a file. Cron has its own
/// `/etc`, `/run` and spool, so that the machine's jobs stay where they are.
@Suite(
  .turns,
  .enabled(
    if: Programs.find("cron") != nil && Overlay.isAllowed,
    "cron is not installed, or overlays can't be mounted"))
struct CronMailTests {
  private static let start = """
    set -e
    for folder in etc usr/sbin var/spool; do
      mkdir -p "$1/$folder/up" "$1/$folder/work"
      mount -t overlay overlay -o "lowerdir=/$folder,upperdir=$1/$folder/up,workdir=$1/$folder/work" "/$folder"
    done
    mount -t tmpfs tmpfs /run
    rm -rf /etc/crontab /etc/cron.d /var/spool/cron
    mkdir -p /etc/cron.d /var/spool/cron/crontabs
    for kind in auth account session; do echo "$kind required pam_permit.so"; done > /etc/pam.d/cron
    cp "$1/crontab" "/var/spool/cron/crontabs/$(id -un)"
    chmod 600 /var/spool/cron/crontabs/*
    cp "$1/sendmail" /usr/sbin/sendmail
    chmod 755 /usr/sbin/sendmail
    exec "$2" -f
    """

  @Test func onFailureAlone() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a", size: 100)
    for (name, file) in [("good", "a"), ("bad", "missing")] {
      try bench.writeJob(
        """
        version: 1
        job: \(name)
        transfers: [{ id: one, download: "\(depot.url)/files/\(file)", to: in/\(name) }]
        """, as: name + ".yaml")
    }
    let base = try bench.scratch.folder("cron")
    // `@reboot` in place of the times: at once.
    let lines = ["good", "bad"].map {
      "@reboot haul run \(bench.job)/\($0).yaml --if-running skip --quiet; echo $? > \(base)/\($0)"
    }
    let head = """
      MAILTO=ops@example.net
      PATH=\(Programs.folder):/usr/bin:/bin
      HOME=\(bench.scratch.path)
      """
    try bench.scratch.write("cron/crontab", "\(head)\n\(lines.joined(separator: "\n"))\n")
    try bench.scratch.write("cron/sendmail", "#!/bin/sh\ncat > \(base)/mail.$$\n")
    let script = try bench.scratch.write("cron/start.sh", Self.start)
    let cron = try Running(
      "/usr/bin/unshare",
      ["-m", "--propagation", "private", "sh", script, base, try #require(Programs.find("cron"))],
      environment: bench.environment(), folder: bench.scratch.path, scratch: bench.scratch.path)
    func read(_ name: String) -> String? { try? String(contentsOfFile: base + "/" + name, encoding: .utf8) }
    // Cron's children are there until what they print is mailed.
    while read("good") == nil || read("bad") == nil || !children(cron.pid).isEmpty {
      try #require(cron.isAlive, "\(cron.errors)")
      try await Task.sleep(for: .milliseconds(20))
    }
    await cron.end()
    #expect(read("good") == "0\n" && read("bad") == "1\n")
    let mails = try FileManager.default.contentsOfDirectory(atPath: base).filter { $0.hasPrefix("mail.") }
    try #require(mails.count == 1, "\(mails.compactMap(read))")
    let mail = try #require(read(mails[0]))
    #expect(
      mail.contains("To: ops@example.net") && mail.contains("bad.yaml --if-running skip --quiet"), "\(mail)")
    #expect(mail.contains("bad: failed (run 1") && mail.contains("failed one: NOT_FOUND: "), "\(mail)")
    #expect(try bench.isSame("in/good", "a"))
  }

  private func children(_ pid: Int32) -> String {
    (try? String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)) ?? ""
  }
}
