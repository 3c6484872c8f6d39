import Foundation
import JobManifest
import Planner
import Testing

struct StateFolderCheckTests {
  /// In this order with one check, as what it knows of one row it uses for the next.
  private static let asked: [(folder: String, isHeld: Bool)] = [
    ("new/a/", false), ("new/a/", false), ("new/b/c/", false), ("new/../state/own/", true),
    ("new/./x/", false),
    ("", false), ("state/", true), ("state/own/", true), ("state/own/new/deep/", true), ("stately/", false),
    ("way/", true), ("way/new/", true), ("way//new/", true), ("new//x/", false), ("around/", false),
    ("around/state/own/", true), ("dangling/", false),
    ("dangling/state/", true), ("there/d/", false), ("there/x/", false), ("there/d/x/y/", false),
    ("there/up/state/", true), ("there/d/../../state/", true), ("new/a/", false),
    // Names that differ in their bytes alone.
    ("caf\u{e9}/x/", true), ("cafe\u{301}/x/", false),
  ]

  private func check(_ fixture: PlanFixture, state: String) throws -> StateFolderCheck {
    let read = ManifestReader.read(
      PlanFixture.head + "  - { id: f, download: \"web:f\", to: f }\n", path: "job.yaml",
      directory: fixture.folder.path, environment: { _ in nil })
    let job = try #require(read.job)
    return StateFolderCheck(
      try #require(StateFolders(root: fixture.folder.path + "/" + state, jobs: [], for: job)))
  }

  @Test func linksAndFoldersToCome() throws {
    let fixture = try PlanFixture(["state/own/plan.sqlite": "", "there/d/f": "", "cafe\u{301}/f": ""])
    defer { fixture.remove() }
    for (link, target) in [
      ("way", "state/own"), ("around", "."), ("dangling", "nowhere/.."), ("there/up", ".."),
      ("caf\u{e9}", "state/own"),
    ] {
      try FileManager.default.createSymbolicLink(
        atPath: fixture.folder.path + "/" + link, withDestinationPath: target)
    }
    let check = try check(fixture, state: "state")
    for (folder, isHeld) in Self.asked { #expect(check.holds(folder) == isHeld, "\(folder)") }
    for (folder, isHeld) in Self.asked.reversed() { #expect(check.holds(folder) == isHeld, "\(folder)") }
    #expect(check.holds(fixture.folder.path + "/way/"))
    #expect(!check.holds(fixture.folder.path + "/there/"))
  }

  /// Below a folder that is not there yet the state may come to lie.
  @Test func aStateToCome() throws {
    let fixture = try PlanFixture()
    defer { fixture.remove() }
    let check = try check(fixture, state: "new/state")
    for (folder, isHeld) in [
      ("new/a/", false), ("new/state/", true), ("new/state/own/", true), ("new/stately/", false),
      ("new/", false),
    ] {
      #expect(check.holds(folder) == isHeld, "\(folder)")
    }
  }
}
