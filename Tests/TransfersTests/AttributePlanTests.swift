import JobModel
import Testing

@testable import Transfers

/// Which attributes go along, and which are lost, by what both ends know.
struct AttributePlanTests {
  private static let all = Set(Attribute.allCases)

  private static let object = {
    var object = ObjectAttributes()
    object.headers = [.language: "de"]
    object.metadata = ["owner": "anna", "mtime": "1700000000.5", "mode": "100640"]
    object.tags = ["team": "x"]
    (object.mtime, object.mode) = (1_700_000_000_500_000_000, 0o640)
    object.storageClass = "STANDARD_IA"
    return object
  }()

  private func plan(
    _ words: [String], tells: Set<Attribute> = Self.all, keeps: Set<Attribute> = Self.all,
    areRemote: Bool = true,
    of attributes: ObjectAttributes = Self.object, hasType: Bool = true
  ) throws -> AttributePlan {
    AttributePlan(
      try PreserveRule(words), AttributePlan.Ends(tells: tells, keeps: keeps, areRemote: areRemote),
      of: attributes, hasType: hasType, storesByClass: true)
  }

  @Test func allThatBothEndsKnow() throws {
    let plan = try plan(["available"])
    #expect(plan.preserved == Self.all && plan.lost.isEmpty)
    #expect(plan.sent == Self.object)
  }

  @Test func thoseThatAreNamed() throws {
    let tags = try plan(["tags"])
    #expect(tags.preserved == [.tags] && tags.sent.tags == ["team": "x"])
    #expect(tags.sent.metadata.isEmpty && tags.sent.storageClass == nil && tags.sent.headers.isEmpty)
    // The store's own words for the time go as they came.
    let time = try plan(["mtime"])
    #expect(time.sent.metadata == ["mtime": "1700000000.5"] && time.sent.mtime == 1_700_000_000_500_000_000)
    // All metadata is all of it.
    #expect(try plan(["metadata"]).sent.metadata == Self.object.metadata)
    #expect(try plan(["none"]).sent == ObjectAttributes())
  }

  @Test func whatTheDestinationHasNoPlaceFor() throws {
    let copy = try plan(["available"], keeps: [.contentType])
    #expect(copy.preserved == [.contentType] && copy.lost == Self.all.subtracting([.contentType]))
    // A download's file is not said to lose what no file has.
    let file = try plan(["available"], keeps: LocalAttributes.keeps, areRemote: false)
    #expect(file.preserved == [.mtime, .mode] && file.lost.isEmpty)
    let named = try plan(["available", "tags"], keeps: LocalAttributes.keeps, areRemote: false)
    #expect(named.lost == [.tags])
  }

  @Test func whatTheSourceHasNot() throws {
    var bare = ObjectAttributes()
    bare.tagCount = 0
    let none = try plan(["available", "tags!", "mode!"], of: bare, hasType: false)
    #expect(none.preserved.isEmpty && none.lost.isEmpty, "nothing is there to be lost")
    // A kind that can't tell loses what is asked for by name.
    let untold = try plan(["available", "mode"], tells: [.contentType], of: bare)
    #expect(untold.preserved == [.contentType] && untold.lost == [.mode])
    // Tags that the store does not tell may be there.
    var hidden = Self.object
    hidden.tags = nil
    #expect(try plan(["available"], of: hidden).lost == [.tags])
  }

  @Test func aTimeAndAModeAreNoMetadata() throws {
    var written = ObjectAttributes()
    written.metadata = ["mtime": "1", "mode": "100600"]
    (written.mtime, written.mode, written.tags) = (1_000_000_000, 0o600, [:])
    #expect(try plan(["available"], of: written).preserved == [.contentType, .mtime, .mode])
    // A word that can't be read is metadata like any other.
    written.metadata["mtime"] = "yesterday"
    written.mtime = nil
    let odd = try plan(["available"], of: written)
    #expect(odd.preserved == [.contentType, .metadata, .mode] && odd.sent.metadata["mtime"] == "yesterday")
  }

  /// What is told and can't be read is lost, and not taken for what the source has not.
  @Test(
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", "100640", [.mtime, .mode], []),
      ("yesterday", "rwx", [], [.mtime, .mode]), ("Fri, 31 Dec 9999 23:59:59 GMT", nil, [], [.mtime]),
      (nil, nil, [], []),
    ] as [(String?, String?, Set<Attribute>, Set<Attribute>)])
  func whatCantBeRead(_ time: String?, _ mode: String?, _ kept: Set<Attribute>, _ lost: Set<Attribute>) throws
  {
    var settings = TransferSettings(direction: .download)
    settings.preserve = try PreserveRule(["mtime!", "mode!"])
    var object = RemoteObject()
    object.lastModified = time
    if let mode {
      object.attributes.metadata = ["mode": mode]
      object.attributes.mode = ObjectMode.bits(mode)
    }
    let plan = DownloadAttributes(settings, tells: Self.all).plan(object)
    #expect(plan.preserved == kept && plan.lost == lost)
  }

  @Test func theLossOfADemandedOneFails() throws {
    let rule = try PreserveRule(["tags!", "mode"])
    let lost = try plan(["tags!", "mode"], keeps: [])
    #expect(lost.lost == [.tags, .mode])
    let failure = #expect(throws: Failure.self) { try lost.check(rule, "https://h/x") }
    #expect(failure?.code == .attributesLost && failure?.class == .permanent)
    #expect(failure?.message.contains("`tags`") == true && failure?.message.contains("`mode`") == false)
    try plan(["mode"], keeps: []).check(try PreserveRule(["mode"]), "x")
  }

  @Test func wholeSecondsAreTheSameTime() {
    let sent: Int64 = 1_763_999_000_123_456_789
    #expect(UploadAttributes.isSameTime(sent, sent))
    #expect(UploadAttributes.isSameTime(1_763_999_000_000_000_000, sent), "SFTP keeps no more")
    for other: Int64? in [nil, sent + 1, 1_763_999_001_000_000_000, 1_763_998_999_000_000_000] {
      #expect(!UploadAttributes.isSameTime(other, sent))
    }
  }

  @Test func nothingImpliedIsLost() {
    let plan = AttributePlan(
      .standard(.upload), AttributePlan.Ends(tells: LocalAttributes.tells, keeps: [], areRemote: false),
      of: ObjectAttributes(), hasType: true)
    #expect(plan.preserved.isEmpty && plan.lost.isEmpty)
  }

  @Test func whenLastModifiedStands() {
    var object = RemoteObject()
    object.lastModified = "Sun, 06 Nov 1994 08:49:37 GMT"
    #expect(object.mtime(byLastModified: true) == 784_111_777_000_000_000)
    #expect(object.mtime(byLastModified: false) == nil)
    object.attributes.mtime = 5
    #expect(object.mtime(byLastModified: true) == 5)
  }
}
