import Foundation
import TestSupport
import Testing

/// What a file system does to downloads: each fault has its code, harms nobody else, and costs no progress that could
/// be used again.
@Suite(.turns)
struct DiskTests {
  private static let size = 4 << 20

  /// A job with one download into `out/` and one beside it.
  private func job(_ depot: Depot, policy: String = "", to: String = "out/a.bin", more: String = "") -> String
  {
    """
    version: 1
    job: disk
    endpoints: { depot: \(depot.endpoint) }
    policies: { p: { retry: { attempts: 2, initial: 10ms, max: 20ms }\(policy) } }
    defaults: { policy: p, chunk_size: 256KiB }
    transfers:
      - { id: one, download: "depot:a.bin", to: \(to)\(more) }
      - { id: beside, download: "depot:b.bin", to: b.bin }

    """
  }

  private func bench(rate: String? = nil) async throws -> (Bench, Depot) {
    let bench = try Bench()
    let faults = rate.map {
      ["{\"match\": {\"method\": \"GET\", \"path\": \"/files/*.bin\"}, \"action\": {\"rate\": \"\($0)\"}}"]
    }
    let depot = try await Depot(bench, faults: faults ?? [])
    try bench.serve("a.bin", size: Self.size, seed: 31)
    try bench.serve("b.bin", size: 1000, seed: 32)
    return (bench, depot)
  }

  private func expect(_ run: HaulRun, _ state: String, message: String? = nil) {
    #expect(run.faults == "")
    #expect(run.state("one") == state, "\(run.errors)")
    #expect(run.state("beside") == "completed" || run.state("beside") == "up_to_date")
    if let message {
      let said = run["one"]["error"]["message"].string ?? ""
      #expect(said.contains(message), "\(said)")
    }
  }

  private func mode(_ path: String) -> Int {
    var status = stat()
    return lstat(path, &status) == 0 ? Int(status.st_mode & 0o7777) : -1
  }

  // MARK: Space

  /// The reserve is looked at before a byte moves, and holds for bodies whose length nobody tells.
  @Test(.enabled(if: Mount.isAllowed, "needs root to mount")) func minFree() async throws {
    let (bench, depot) = try await bench()
    let quirks = try await QuirkServer(bench)
    try bench.serve("long.bin", size: 14 << 20, seed: 33)
    let mount = try Mount.small(16 << 20, at: bench.job + "/out")
    func yaml(_ reserve: String) -> String {
      job(depot, policy: ", disk: { min_free: \(reserve) }")
        + "  - { id: long, download: \"\(quirks.url)/chunked/long.bin\", to: out/long.bin }\n"
        + "  - { id: small, download: \"depot:b.bin\", to: out/b.bin, policy: { disk: { min_free: 1GiB } } }\n"
    }
    let run = try await bench.run(yaml("13MiB"))
    #expect(run.status == 75)
    expect(run, "paused disk DISK_FULL", message: "min_free")
    #expect(run["one"]["bytes"]["transferred"].int == 0)
    // Not of a small one either, though it is made only once it has come.
    #expect(run.state("small") == "paused disk DISK_FULL")
    #expect(run["small"]["bytes"]["transferred"].int == 0)
    #expect(try await depot.log().downloads.allSatisfy { $0.path != "/files/a.bin" })
    #expect(run.state("long") == "paused disk DISK_FULL")
    #expect((run["long"]["bytes"]["transferred"].int ?? .max) < 9 << 20)
    // Nothing of use is left behind, so nothing takes the space of others.
    #expect(bench.parts().isEmpty)
    let again = try await bench.run(yaml("11MiB"), ["--only", "one"])
    expect(again, "completed")
    #expect(try bench.isSame("out/a.bin", "a.bin"))
    withExtendedLifetime(mount) {}
  }

  /// A real quota: what it refuses is a full disk to us, and the part that came is kept.
  @Test(
    .enabled(
      if: Mount.isAllowed && Programs.find("mkfs.btrfs") != nil, "needs root and btrfs-progs for a quota"))
  func quota() async throws {
    let (bench, depot) = try await bench()
    let image = bench.scratch.path + "/quota.img"
    _ = try Sums.shell("truncate -s 256M \(image) && mkfs.btrfs -q \(image)", in: "/")
    let mount = try Mount("-o loop \(image)", at: bench.job + "/out")
    _ = try Sums.shell(
      "btrfs quota enable out && btrfs subvolume create out/sub >/dev/null"
        + " && btrfs qgroup limit 2M out/sub && sync",
      in: bench.job)
    let yaml = job(depot, to: "out/sub/a.bin")
    let run = try await bench.run(yaml)
    #expect(run.status == 75)
    expect(run, "paused disk DISK_FULL", message: "quota")
    #expect(!bench.exists("out/sub/a.bin"))
    _ = try Sums.shell("btrfs qgroup limit none out/sub && sync", in: bench.job)
    let again = try await bench.run(yaml)
    expect(again, "completed")
    #expect(again.status == 0)
    #expect(try bench.isSame("out/sub/a.bin", "a.bin"))
    withExtendedLifetime(mount) {}
  }

  // MARK: A folder that is not what it was

  @Test(.enabled(if: Mount.isAllowed, "needs root to mount")) func readOnlyFolder() async throws {
    let (bench, depot) = try await bench(rate: "512KiB")
    let mount = try Mount.small(32 << 20, at: bench.job + "/out")
    try bench.writeJob(job(depot))
    let first = try await Midway.stop(bench, after: 4, of: ["one"])
    #expect(first.state("one") == "paused interrupted")
    try mount.change("ro")
    try bench.writeJob(job(depot) + "  - { id: small, download: \"depot:b.bin\", to: out/b.bin }\n")
    let second = try await bench.run()
    #expect(second.status == 1)
    expect(second, "failed PERMISSION_DENIED", message: "Read-only file system")
    #expect(second.state("small") == "failed PERMISSION_DENIED")
    #expect(second["small"]["bytes"]["transferred"].int == 0)
    try mount.change("rw")
    let third = try await bench.run()
    #expect(third.status == 0, "\(third.errors)")
    #expect((third["one"]["chunks"]["reused"].int ?? 0) >= 4)
    #expect(try bench.isSame("out/a.bin", "a.bin") && bench.isSame("out/b.bin", "b.bin"))
  }

  /// The mount goes while its open folder still takes bytes: nothing is called complete that nobody can find.
  @Test(.enabled(if: Mount.isAllowed, "needs root to mount")) func vanishedMountInMidRun() async throws {
    let (bench, depot) = try await bench(rate: "256KiB")
    let store = try bench.scratch.folder("store")
    let mount = try Mount("--bind \(store)", at: bench.job + "/out")
    try bench.writeJob(job(depot))
    let run = try await Midway.meet(bench, after: 4, of: ["one"]) { try mount.vanish() }
    #expect(run.status == 1)
    expect(run, "failed IO_ERROR", message: "unmounted")
    #expect(!bench.exists("out/a.bin"))
    #expect(!FileManager.default.fileExists(atPath: store + "/a.bin"))
    // Back again, all that came is there.
    let back = try Mount("--bind \(store)", at: bench.job + "/out")
    let again = try await bench.run()
    #expect(again.status == 0, "\(again.errors)")
    #expect(again["one"]["bytes"]["transferred"].int == 0)
    #expect(try bench.isSame("out/a.bin", "a.bin"))
    withExtendedLifetime(back) {}
  }

  /// The mount is missing when the run begins: its part file is not fetched anew into the folder below it.
  @Test(.enabled(if: Mount.isAllowed, "needs root to mount")) func vanishedMountBetweenRuns() async throws {
    let (bench, depot) = try await bench(rate: "512KiB")
    let image = bench.scratch.path + "/store.img"
    _ = try Sums.shell("truncate -s 32M \(image) && mkfs.ext4 -q \(image)", in: "/")
    let first: HaulRun
    do {
      let mount = try Mount("-o loop \(image)", at: bench.job + "/out")
      try bench.writeJob(job(depot))
      first = try await Midway.stop(bench, after: 4, of: ["one"])
      #expect(first.state("one") == "paused interrupted")
      withExtendedLifetime(mount) {}
    }
    let absent = try await bench.run()
    expect(absent, "failed IO_ERROR", message: "mount")
    #expect(absent["one"]["bytes"]["transferred"].int == first["one"]["bytes"]["transferred"].int)
    #expect(bench.parts().isEmpty)
    let back = try Mount("-o loop \(image)", at: bench.job + "/out")
    let again = try await bench.run()
    #expect(again.status == 0, "\(again.errors)")
    #expect((again["one"]["chunks"]["reused"].int ?? 0) >= 4)
    #expect(try bench.isSame("out/a.bin", "a.bin"))
    withExtendedLifetime(back) {}
  }

  /// Something that is no file takes the destination's place, before a run or in the middle of it.
  @Test(arguments: ["folder", "link"], [true, false])
  func destinationBecame(_ kind: String, inMidRun: Bool) async throws {
    let (bench, depot) = try await bench(rate: "1MiB")
    try bench.source("precious.txt", size: 100, seed: 3)
    let precious = try Sums.file(bench.job + "/precious.txt")
    try bench.writeJob(job(depot))
    func take() throws {
      _ = try Sums.shell(
        kind == "folder" ? "mkdir a.bin" : "ln -s ../precious.txt a.bin", in: bench.job + "/out")
    }
    let run: HaulRun
    if inMidRun {
      run = try await Midway.meet(bench, after: 4, of: ["one"], take)
    } else {
      #expect(try await Midway.stop(bench, after: 4, of: ["one"]).state("one") == "paused interrupted")
      try take()
      run = try await bench.run()
    }
    #expect(run.status == 1)
    expect(run, "failed IO_ERROR", message: kind == "folder" ? "a folder" : "a symbolic link")
    #expect(try Sums.file(bench.job + "/precious.txt") == precious)
    #expect(bench.parts().count == 1)
    _ = try Sums.shell("rm -r a.bin", in: bench.job + "/out")
    let again = try await bench.run()
    #expect(again.status == 0, "\(again.errors)")
    #expect((again["one"]["chunks"]["reused"].int ?? 0) >= 4)
    #expect(try bench.isSame("out/a.bin", "a.bin"))
  }

  // MARK: Others at work

  /// Two jobs race for one name: where neither may overwrite, exactly one wins, whole.
  @Test func twoJobsRaceForOneName() async throws {
    let (bench, depot) = try await bench(rate: "512KiB")
    func yaml(_ name: String) -> String {
      job(depot, more: ", if_exists: fail").replacing("job: disk", with: "job: \(name)")
        .replacing("to: b.bin", with: "to: \(name).bin")
        .replacing("\"depot:a.bin\"", with: name == "left" ? "\"depot:a.bin\"" : "\"depot:c.bin\"")
    }
    try bench.serve("c.bin", size: Self.size, seed: 39)
    var racers: [(String, Running, String)] = []
    for name in ["left", "right"] {
      try bench.writeJob(yaml(name), as: name + ".yaml")
      let report = bench.scratch.path + "/\(name).json"
      let running = try bench.start(["run", name + ".yaml", "--report", report, "--no-progress"])
      racers.append((name, running, report))
    }
    // Both are under way before either has the name.
    while bench.parts().filter({ $0.contains("/.a.bin.") }).count < 2, racers.allSatisfy(\.1.isAlive) {
      try await Task.sleep(for: .milliseconds(10))
    }
    #expect(!bench.exists("out/a.bin"))
    var states: [String: String] = [:]
    for (name, running, report) in racers {
      let run = try await HaulRun(try await running.wait(), reportPath: report)
      #expect(run.faults == "")
      #expect(run.state("beside") == "completed")
      states[name] = run.state("one")
    }
    #expect(states.values.sorted() == ["completed", "failed DESTINATION_EXISTS"], "\(states)")
    let winner = states["left"] == "completed" ? "a.bin" : "c.bin"
    #expect(try bench.isSame("out/a.bin", winner))
  }

  /// Part files that somebody else deleted, cut, overwrote or changed: only what is no longer there is fetched again.
  @Test(arguments: ["deleted", "cut", "overwritten", "emptied", "longer"])
  func partFileWasChanged(_ how: String) async throws {
    let (bench, depot) = try await bench(rate: "512KiB")
    try bench.writeJob(job(depot))
    let first = try await Midway.stop(bench, after: 6, of: ["one"])
    let recorded = first["one"]["chunks"]["completed"].int ?? 0
    let part = try #require(bench.parts().first)
    let script =
      switch how {
      case "deleted": "rm '\(part)'"
      case "cut": "truncate -s 300000 '\(part)'"
      case "emptied": "truncate -s 0 '\(part)'"
      case "longer": "truncate -s 9000000 '\(part)'"
      default: "printf XXXXXXXX | dd of='\(part)' bs=1 seek=1000 conv=notrunc 2>/dev/null"
      }
    _ = try Sums.shell(script, in: bench.job)
    let again = try await bench.run()
    #expect(again.status == 0, "\(again.errors)")
    #expect(again.faults == "")
    #expect(try bench.isSame("out/a.bin", "a.bin"))
    let reused = again["one"]["chunks"]["reused"].int ?? -1
    switch how {
    case "deleted":
      #expect(reused == 0)
      #expect(again.remarks.contains("part file is gone"), "\(again.remarks)")
    case "longer": #expect(reused >= recorded)
    case "overwritten":
      #expect(reused >= recorded - 1 && again.remarks.contains("damaged on disk"), "\(again.remarks)")
    default: #expect(again.remarks.contains("damaged on disk"), "\(again.remarks)")
    }
  }

  /// A link, a pipe or a folder in a part file's place is neither followed nor removed.
  @Test(arguments: ["link", "pipe", "folder", "second name"])
  func partFileWasReplaced(_ kind: String) async throws {
    let (bench, depot) = try await bench(rate: "512KiB")
    try bench.source("precious.txt", size: 100, seed: 3)
    let precious = try Sums.file(bench.job + "/precious.txt")
    try bench.writeJob(job(depot))
    #expect(try await Midway.stop(bench, after: 4, of: ["one"]).state("one") == "paused interrupted")
    let part = try #require(bench.parts().first)
    let make =
      switch kind {
      case "link": "ln -s ../precious.txt"
      case "pipe": "mkfifo"
      case "folder": "mkdir"
      default: "ln precious.txt"
      }
    _ = try Sums.shell("mv '\(part)' kept && \(make) '\(part)'", in: bench.job)
    let run = try await bench.run()
    #expect(run.status == 1)
    expect(run, "failed IO_ERROR")
    #expect(try Sums.file(bench.job + "/precious.txt") == precious)
    _ = try Sums.shell("rm -r '\(part)' && mv kept '\(part)'", in: bench.job)
    let again = try await bench.run()
    #expect(again.status == 0, "\(again.errors)")
    #expect((again["one"]["chunks"]["reused"].int ?? 0) >= 4)
    #expect(try bench.isSame("out/a.bin", "a.bin"))
  }

  /// A snapshot by hard links, taken while the job is stopped, keeps what it has: the part file is made anew.
  @Test func partFileWasLinked() async throws {
    let (bench, depot) = try await bench(rate: "512KiB")
    try bench.writeJob(job(depot))
    #expect(try await Midway.stop(bench, after: 4, of: ["one"]).state("one") == "paused interrupted")
    let part = try #require(bench.parts().first)
    _ = try Sums.shell("ln '\(part)' kept", in: bench.job)
    let kept = try Sums.file(bench.job + "/kept")
    let run = try await bench.run()
    #expect(run.status == 0 && run.remarks.contains("another name"), "\(run.errors)")
    #expect(try bench.isSame("out/a.bin", "a.bin") && Sums.file(bench.job + "/kept") == kept)
  }

  /// A part file that somebody opened to others meanwhile is its owner's alone again before more is written to it.
  @Test func partFileWasOpenedToOthers() async throws {
    let (bench, depot) = try await bench(rate: "512KiB")
    try bench.writeJob(job(depot))
    #expect(try await Midway.stop(bench, after: 4, of: ["one"]).state("one") == "paused interrupted")
    let part = bench.job + "/" + (try #require(bench.parts().first))
    chmod(part, 0o666)
    let run = try await Midway.meet(bench, after: 1, of: ["one"]) { #expect(mode(part) == 0o600) }
    #expect(run.status == 0, "\(run.errors)")
    #expect(try bench.isSame("out/a.bin", "a.bin"))
  }

  /// Nobody else reads bytes that are not verified: a watcher never sees a part file that is open to others.
  @Test func partFilesAreTheirOwnersAlone() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    for index in 0..<40 { try bench.serve("f\(index).bin", size: 2_000_000, seed: UInt64(index)) }
    let lines = (0..<40).map { "  - { id: f\($0), download: \"depot:f\($0).bin\", to: out/f\($0).bin }" }
    try bench.writeJob(
      """
      version: 1
      job: modes
      endpoints: { depot: \(depot.endpoint) }
      defaults: { chunk_size: 256KiB, mode: "0644" }
      transfers:
      \(lines.joined(separator: "\n"))

      """)
    let running = try bench.start(bench.runArguments())
    var seen: Set<Int> = []
    while running.isAlive {
      for name in (try? FileManager.default.contentsOfDirectory(atPath: bench.job + "/out")) ?? []
      where name.hasSuffix(".haul-part") {
        seen.insert(mode(bench.job + "/out/" + name))
      }
    }
    #expect(try await running.wait().status == 0)
    // -1: it was promoted between the two looks.
    #expect(seen.subtracting([-1]) == [0o600], "\(seen.map { String($0, radix: 8) })")
    #expect(mode(bench.job + "/out/f0.bin") == 0o644)
  }
}
