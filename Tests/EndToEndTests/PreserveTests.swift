import Foundation
import TestSupport
import Testing

/// Attributes that go along with the bytes, against servers that nobody here wrote.
@Suite(.stores, .turns)
struct PreserveTests {
  /// A prefix of the test's own: the stores are shared.
  private let place = "p\(UUID().uuidString.prefix(8).lowercased())"
  private static let environment = Store.environment

  private func job(_ endpoints: [String], _ transfers: [String]) -> String {
    """
    version: 1
    job: preserve
    policies: { p: { retry: { attempts: 4, initial: 10ms, max: 50ms } } }
    endpoints:
    \(endpoints.map { "  " + $0 }.joined(separator: "\n"))
    defaults: { chunk_size: 5MiB, policy: p }
    transfers:
    \(transfers.map { "  - " + $0 }.joined(separator: "\n"))
    """
  }

  private func words(_ transfer: JSON, _ list: String) -> [String] {
    transfer[list].array.compactMap(\.string)
  }

  private static let all = ["content_type", "content_headers", "metadata", "tags", "mtime", "mode"]

  /// Puts an object with all that S3 knows.
  private func put(_ store: Store, _ key: String, size: Int = 10) async throws {
    _ = try await store.boto(
      """
      s3.put_object(Bucket='bkt', Key='\(key)', Body=b'x' * \(size), ContentType='text/x-notes', CacheControl='max-age=60',
          ContentLanguage='de', ContentDisposition='inline; filename="q.txt"', StorageClass='STANDARD_IA', Tagging='team=a%20b&kind=x',
          Metadata={'owner': 'anna', 'mtime': '1700000000.123456789', 'mode': '100640'})
      """)
  }

  /// What boto3 sees of an object.
  private func facts(_ store: Store, _ key: String) async throws -> JSON {
    try JSON.parse(
      await store.boto(
        """
        h = s3.head_object(Bucket='bkt', Key=sys.argv[1])
        try: tags = {t['Key']: t['Value'] for t in s3.get_object_tagging(Bucket='bkt', Key=sys.argv[1])['TagSet']}
        except Exception as e: tags = str(e)
        print(json.dumps({'type': h['ContentType'], 'cache': h.get('CacheControl'), 'language': h.get('ContentLanguage'),
            'disposition': h.get('ContentDisposition'), 'class': h.get('StorageClass'), 'metadata': h['Metadata'], 'tags': tags}, sort_keys=True))
        """, [key]))
  }

  /// One PUT, and parts.
  @Test(arguments: [10, (5 << 20) + 7]) func fromStoreToStore(_ size: Int) async throws {
    let (bench, store) = (try Bench(), try Store.shared(.seaweedfs))
    try await put(store, place + "/a", size: size)
    let run = try await bench.run(
      job(
        ["s3: " + store.endpoint("multipart_threshold: 5MiB")],
        [
          "{ id: all, copy: \"s3:\(place)/a\", to: \"s3:\(place)/all\" }",
          "{ id: none, copy: \"s3:\(place)/a\", to: \"s3:\(place)/none\", preserve: none }",
          "{ id: some, copy: \"s3:\(place)/a\", to: \"s3:\(place)/some\", preserve: [tags!, mtime!, content_type!] }",
          "{ id: own, copy: \"s3:\(place)/a\", to: \"s3:\(place)/own\", metadata: { Owner: bo, k: v }, tags: { team: c }, storage_class: STANDARD, content_type: text/y }",
        ]), environment: Self.environment)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    let source = try await facts(store, place + "/a")
    #expect(try await facts(store, place + "/all") == source)
    #expect(words(run["all"], "preserved") == Self.all && words(run["all"], "lost") == [])
    let none = try await facts(store, place + "/none")
    #expect(none["metadata"] == .object([:]) && none["tags"] == .object([:]) && none["cache"] == .null)
    #expect(words(run["none"], "preserved") == [] && none["type"].string != "text/x-notes")
    let some = try await facts(store, place + "/some")
    #expect(some["tags"] == source["tags"] && some["type"].string == "text/x-notes" && some["cache"] == .null)
    #expect(some["metadata"] == .object(["mtime": .string("1700000000.123456789")]))
    #expect(words(run["some"], "preserved") == ["content_type", "tags", "mtime"])
    let own = try await facts(store, place + "/own")
    #expect(own["metadata"]["owner"].string == "bo" && own["metadata"]["k"].string == "v")
    #expect(own["metadata"]["mtime"].string == "1700000000.123456789" && own["type"].string == "text/y")
    #expect(own["tags"] == .object(["team": .string("c"), "kind": .string("x")]))
    #expect(own["class"].string != "STANDARD_IA")
    #expect(words(run["own"], "preserved") == Self.all.filter { $0 != "content_type" })
    let again = try await bench.run(nil, environment: Self.environment)
    #expect(again.status == 0 && again.transferred == 0)
    #expect(words(again["all"], "preserved") == Self.all, "what stands keeps what is known of it")
  }

  /// A file's time to the nanosecond and its mode, there and back, in rclone's words.
  @Test func fileTimesAndModes() async throws {
    let (bench, store) = (try Bench(), try Store.shared(.seaweedfs))
    let file = try bench.source("a.bin", size: 1000)
    #expect(chmod(file, 0o640) == 0)
    let time = timespec(tv_sec: 1_600_000_000, tv_nsec: 123_456_789)
    #expect(utimensat(AT_FDCWD, file, [time, time], 0) == 0)
    func facts(_ name: String) throws -> [Int] {
      var status = stat()
      guard stat(bench.job + "/" + name, &status) == 0 else { throw TestFault("no \(name)") }
      return [status.st_mtim.tv_sec, status.st_mtim.tv_nsec, Int(status.st_mode & 0o7777)]
    }
    let run = try await bench.run(
      job(
        ["s3: " + store.endpoint()],
        [
          "{ id: up, upload: a.bin, to: \"s3:\(place)/a\", preserve: [content_type, mtime!, mode!] }",
          "{ id: plain, upload: a.bin, to: \"s3:\(place)/plain\" }",
          "{ id: down, download: \"s3:\(place)/a\", to: down.bin, preserve: available, needs: [up] }",
          "{ id: asked, download: \"s3:\(place)/a\", to: asked.bin, preserve: [mtime, mode, tags], mode: \"0600\", needs: [up] }",
          "{ id: old, download: \"s3:\(place)/a\", to: old.bin, needs: [up] }",
          "{ id: stored, download: \"s3:\(place)/a\", to: stored.bin, preserve: [mtime], mtime: source, needs: [up] }",
        ]), environment: Self.environment)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    #expect(
      words(run["up"], "preserved") == ["content_type", "mtime", "mode"] && words(run["up"], "lost") == [])
    #expect(words(run["plain"], "preserved") == ["content_type"])
    #expect(try facts("down.bin") == facts("a.bin"))
    #expect(words(run["down"], "preserved") == ["mtime", "mode"] && words(run["down"], "lost") == [])
    #expect(try facts("asked.bin") == [1_600_000_000, 123_456_789, 0o600])
    #expect(words(run["asked"], "preserved") == ["mtime"] && words(run["asked"], "lost") == ["tags"])
    #expect(try facts("old.bin")[0] > 1_700_000_000)
    let stored = try facts("stored.bin")
    #expect(stored[0] > 1_700_000_000 && stored[1] == 0, "Last-Modified")
    let metadata = try await self.facts(store, place + "/a")["metadata"]
    #expect(
      metadata == .object(["mtime": .string("1600000000.123456789"), "mode": .string("100640")]))
    #expect(try await self.facts(store, place + "/plain")["metadata"] == .object([:]))
    let again = try await bench.run(nil, environment: Self.environment)
    #expect(again.status == 0 && again.transferred == 0 && again.totals["up_to_date"].int == 6)
  }

  /// rclone reads what haul wrote, and haul what rclone wrote.
  @Test func asRcloneHasThem() async throws {
    let (bench, store) = (try Bench(), try Store.shared(.seaweedfs))
    let file = try bench.source("a.bin", size: 1000)
    let time = timespec(tv_sec: 1_600_000_000, tv_nsec: 123_456_789)
    #expect(utimensat(AT_FDCWD, file, [time, time], 0) == 0 && chmod(file, 0o604) == 0)
    let bin = try (Venv.python() as NSString).deletingLastPathComponent
    let remote =
      ":s3,provider=Other,env_auth=true,force_path_style=true,no_check_bucket=true,endpoint=\"\(store.url)\":bkt/\(place)"
    func rclone(_ arguments: [String]) async throws -> String {
      let run = try Running(
        bin + "/rclone", arguments + ["--retries", "1"], environment: bench.environment(Self.environment),
        folder: bench.job, scratch: bench.scratch.path)
      let end = try await run.wait(.seconds(120))
      guard end.status == 0 else { throw TestFault("rclone: \(end.errors)") }
      return end.output
    }
    _ = try await rclone(["copyto", "--metadata", "a.bin", remote + "/theirs"])
    let run = try await bench.run(
      job(
        ["s3: " + store.endpoint()],
        [
          "{ id: up, upload: a.bin, to: \"s3:\(place)/ours\", preserve: [mtime, mode] }",
          "{ id: down, download: \"s3:\(place)/theirs\", to: theirs.bin, preserve: [mtime!, mode!] }",
        ]), environment: Self.environment)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    var status = stat()
    #expect(stat(bench.job + "/theirs.bin", &status) == 0)
    #expect(status.st_mtim.tv_sec == 1_600_000_000 && status.st_mtim.tv_nsec == 123_456_789)
    #expect(status.st_mode & 0o777 == 0o604)
    let listed = try JSON.parse(await rclone(["lsjson", "--metadata", remote + "/ours"])).array
    #expect(listed.first?["ModTime"].string?.hasPrefix("2020-09-13T12:26:40.123456789") == true, "\(listed)")
    #expect(listed.first?["Metadata"]["mode"].string == "100604")
  }

  /// Where a protocol has no place, it is said; where a store has none for a class, the object goes without.
  @Test func whatIsLost() async throws {
    let (bench, store, other) = (try Bench(), try Store.shared(.seaweedfs), try Store.shared(.juicefs))
    let depot = try await Depot(bench)
    try await put(store, place + "/a")
    let run = try await bench.run(
      job(
        ["s3: " + store.endpoint(), "j: " + other.endpoint(), "depot: " + depot.endpoint],
        [
          "{ id: session, copy: \"s3:\(place)/a\", to: \"depot:\(place)-a\" }",
          "{ id: asked, copy: \"s3:\(place)/a\", to: \"depot:\(place)-b\", preserve: [metadata] }",
          "{ id: class, copy: \"s3:\(place)/a\", to: \"j:\(place)/a\" }",
          "{ id: demanded, copy: \"s3:\(place)/a\", to: \"depot:\(place)-c\", preserve: [tags!, metadata!] }",
        ]), environment: Self.environment)
    #expect(run.status == 1 && run.faults == "", "\(run.errors)")
    #expect(words(run["session"], "preserved") == ["content_type"])
    #expect(words(run["session"], "lost") == Self.all.filter { $0 != "content_type" })
    #expect(words(run["asked"], "preserved") == [] && words(run["asked"], "lost") == ["metadata"])
    #expect(run.state("class") == "completed")
    #expect(run.state("demanded") == "failed ATTRIBUTES_LOST")
    #expect(
      run["demanded"]["bytes"]["transferred"].int == 0
        && run["demanded"]["error"]["retryable"] == .bool(false))
    #expect(run["demanded"]["error"]["message"].string?.contains("`metadata`, `tags`") == true)
  }

  /// A store that takes tags and drops them is found out before a byte moves; what drops metadata, behind the last one.
  @Test(arguments: [10, (5 << 20) + 7]) func aStoreThatDrops(_ size: Int) async throws {
    let (bench, store, other) = (try Bench(), try Store.shared(.seaweedfs), try Store.shared(.juicefs))
    try await put(store, place + "/a", size: size)
    let run = try await bench.run(
      job(
        [
          "s3: " + store.endpoint("multipart_threshold: 5MiB"),
          "j: " + other.endpoint("multipart_threshold: 5MiB"),
        ],
        [
          "{ id: tags, copy: \"s3:\(place)/a\", to: \"j:\(place)/tags\", preserve: [tags!] }",
          "{ id: metadata, copy: \"s3:\(place)/a\", to: \"j:\(place)/metadata\", preserve: [metadata!] }",
        ]), environment: Self.environment)
    #expect(run.status == 1 && run.faults == "", "\(run.errors)")
    for id in ["tags", "metadata"] { #expect(run.state(id) == "failed ATTRIBUTES_LOST", "\(id)") }
    #expect(run["tags"]["bytes"]["transferred"].int == 0 && words(run["tags"], "lost") == ["tags"])
    let keys = try await other.sums(place + "/").keys.sorted()
    #expect(!keys.contains(place + "/tags"))
    #expect(words(run["metadata"], "lost") == ["metadata"])
  }

  /// What a store takes and drops is lost of each object, though only the first ones are looked at.
  @Test func everyObjectTellsWhatWasDropped() async throws {
    let (bench, store, other) = (try Bench(), try Store.shared(.seaweedfs), try Store.shared(.juicefs))
    _ = try await store.boto(
      """
      for n in range(60):
          s3.put_object(Bucket='bkt', Key='\(place)/%d' % n, Body=b'x' * n, ContentLanguage='de', Tagging='n=%d' % n, StorageClass='STANDARD_IA',
              Metadata={'owner': 'anna', 'mtime': '1700000000.5', 'mode': '100640'})
      """)
    let proxy = try await StoreProxy(bench, other)
    let run = try await bench.run(
      job(
        ["s3: " + store.endpoint(), "j: " + other.endpoint(through: proxy)],
        [
          "{ id: all, copy: \"s3:\(place)/\", to: \"j:\(place)/\", policy: { transfers: 2 } }",
          "{ id: own, copy: \"s3:\(place)/\", to: \"s3:\(place)-own/\" }",
        ]), environment: Self.environment)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    let dropped = Self.all.filter { $0 != "content_type" }
    for number in 0..<60 {
      // The type of one is another's by chance: it is told of those that are looked at.
      #expect(words(run["all/\(number)"], "lost").filter { $0 != "content_type" } == dropped, "\(number)")
      #expect(words(run["own/\(number)"], "lost") == [], "\(number)")
    }
    let looks = proxy.visits.count { $0.hasPrefix("HEAD") || $0.contains("tagging") }
    #expect(looks <= 8, "\(proxy.visits)")
    // A class that the store does not know is sent to it by the first ones alone.
    #expect(proxy.visits.count { $0.hasPrefix("PUT") } <= 60 + 2, "\(proxy.visits)")
  }
}
