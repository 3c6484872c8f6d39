import Endpoints
import Foundation
import JobManifest
import JobModel
import Testing

/// What holds for every kind of endpoint: word, keys, identity, record, URLs and abilities agree.
struct DriverTests {
  @Test func eachKindHasARow() {
    #expect(DriverCase.all.map { $0.driver.word } == EndpointRegistry.words)
    #expect(Set(EndpointRegistry.words).count == EndpointRegistry.words.count)
    for word in EndpointRegistry.words { #expect(EndpointRegistry.kind(word)?.word == word) }
  }

  @Test(arguments: DriverCase.all) func everyKeyIsRead(_ kind: DriverCase) throws {
    #expect(kind.keys.map(\.name) == kind.driver.keyNames)
    _ = try kind.endpoint()
    for key in kind.keys {
      let others = kind.keys.filter { $0.name != key.name }.map { ($0.name, $0.value) }
      let isRequired = kind.driver.requiredKeys.contains(key.name)
      let without = kind.read(others).diagnostics.map(\.message)
      #expect(
        without == (isRequired ? ["an endpoint of type `\(kind.driver.word)` needs `\(key.name)`"] : []))
      let misshapen = kind.read(others + [(key.name, "[a]")])
      #expect(misshapen.job == nil, "\(key.name)")
    }
    let foreign = DriverCase.all.flatMap(\.keys).filter { !kind.driver.keyNames.contains($0.name) }
    for key in foreign {
      let result = kind.read(kind.keys.map { ($0.name, $0.value) } + [(key.name, key.value)])
      #expect(result.diagnostics.map(\.message).first?.contains("`\(key.name)`") == true && result.job == nil)
    }
  }

  @Test(arguments: DriverCase.all) func isDocumented(_ kind: DriverCase) throws {
    let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("docs/endpoints.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    #expect(text.contains("\n| `\(kind.driver.word)` |"))
    for name in kind.driver.keyNames { #expect(text.contains("`\(name)"), "\(name)") }
    for direction in kind.driver.abilities.refused.keys {
      #expect(text.contains("\n| `\(kind.driver.word)` \(direction.rawValue) | not offered |"))
    }
  }

  /// Progress belongs to a store: a key that tells stores apart counts, and no other does.
  @Test(arguments: DriverCase.all) func identityIsComplete(_ kind: DriverCase) throws {
    let endpoint = try kind.endpoint()
    let common = [kind.driver.word, kind.url]
    for direction in Direction.allCases {
      let facts = StoreIdentity.facts(endpoint, direction, .current)
      #expect(facts == common + (kind.identity[direction] ?? []))
      for key in kind.keys {
        let other = StoreIdentity.facts(try kind.endpoint(changing: key.name), direction, .current)
        #expect((facts != other) == key.tellsStores.contains(direction), "\(key.name) \(direction)")
      }
      #expect(StoreIdentity.facts(endpoint, direction, .first) == common + kind.firstIdentity)
    }
  }

  /// What is on record tells the same store from others, and has the same URLs.
  @Test(arguments: DriverCase.all) func recordStandsForTheEndpoint(_ kind: DriverCase) throws {
    let endpoint = try kind.endpoint()
    let records = EndpointRecords(text: EndpointRecords(["e": endpoint]).text)
    #expect(records.describesSameStore(as: endpoint))
    for key in kind.keys {
      let isOther = key.tellsStores.contains(.upload)
      #expect(
        try records.describesSameStore(as: kind.endpoint(changing: key.name)) != isOther, "\(key.name)")
    }
    for direction in Direction.allCases {
      for endpoints in [["e": endpoint], records.endpoints] {
        let place = try RemotePlace(.remote(endpoint: "e", path: kind.path), endpoints: endpoints)
        #expect(place.url(direction)?.text == kind.asked[direction])
      }
    }
    #expect(!EndpointRecords(["e": endpoint]).text.contains("env"))
  }

  /// Facts that reports alone need were not on record before: without them a store is the same one.
  @Test(arguments: [("presigned", ["start"]), ("salesforce", ["api_version", "via"])])
  func olderRecordsTellTheStore(_ word: String, _ later: [String]) throws {
    let kind = try #require(DriverCase.all.first { $0.driver.word == word })
    let endpoint = try kind.endpoint()
    var text = EndpointRecords(["e": endpoint]).text
    for name in later {
      let member = try #require(text.range(of: ",\"\(name)\":\"[^\"]*\"", options: .regularExpression))
      text.removeSubrange(member)
    }
    #expect(EndpointRecords(text: text).describesSameStore(as: endpoint))
  }

  /// What was left at another store of a name is ended there, with today's secrets.
  @Test(arguments: DriverCase.all) func formerStoreIsKnown(_ kind: DriverCase) throws {
    for key in kind.keys where key.tellsStores.contains(.upload) {
      let then = try EndpointRecords(["e": kind.endpoint()]).text
      let members = try #require(JSONSerialization.jsonObject(with: Data(then.utf8)) as? [String: Any])
      let text = String(
        decoding: try JSONSerialization.data(withJSONObject: try #require(members["e"])), as: UTF8.self)
      let today = try kind.endpoint(changing: key.name)
      let former = try #require(try EndpointRecords(["e": today]).former("e", text), "\(key.name)")
      #expect(former.driver.headers.count == today.driver.headers.count)
      #expect(throws: Failure.self) {
        var elsewhere = today
        elsewhere.url = "https://elsewhere.example"
        _ = try EndpointRecords(["e": elsewhere]).former("e", text)
      }
    }
  }

  /// Abilities are said once; the protocol values do what they say.
  @Test(arguments: DriverCase.all) func abilitiesHold(_ kind: DriverCase) throws {
    let driver = try kind.endpoint().driver
    let url = try #require(WebURL(endpoint: kind.url))
    let abilities = driver.abilities
    #expect(((try? driver.listingAccess(at: url)) != nil) == abilities.lists)
    #expect(
      ((try? driver.downloadAccess(kind.path, at: url)) != nil) == (abilities.refused[.download] == nil))
    let upload = try? driver.uploadAccess(kind.path, at: url)
    #expect((upload != nil) == (abilities.refused[.upload] == nil))
    guard let upload else {
      #expect(!abilities.provesUploads && !abilities.readsBack)
      return #expect(driver.objection(to: nil, .upload) != nil)
    }
    let traits = upload.traits
    let hasDigests = !traits.abilities.fileDigests.isEmpty || !traits.abilities.chunkDigests.isEmpty
    #expect((hasDigests && traits.provesUpload(in: kind.session)) == abilities.provesUploads)
    // What another kind reads back its sink alone can tell (Tests/EndpointTests).
    guard case .http(let upload) = upload else { return }
    let file = UploadedFile(remoteID: kind.session.id)
    #expect((upload.readback(file) != nil) == abilities.readsBack)
  }

  @Test(arguments: DriverCase.all) func badPathsAreRefused(_ kind: DriverCase) throws {
    let driver = try kind.endpoint().driver
    #expect(driver.objection(to: kind.path, .download) == nil)
    #expect((driver.objection(to: kind.badPath ?? "no id", .download) != nil) == (kind.badPath != nil))
  }
}
