import JobModel
import Testing

struct PlaceTests {
  @Test func reads() {
    for (text, place) in [
      ("a/b.txt", .local("a/b.txt")), ("/etc/x", .local("/etc/x")), ("", .local("")), (":x", .local(":x")),
      ("./a:b", .local("./a:b")), ("files:a/b", .remote(endpoint: "files", path: "a/b")),
      ("files:", .remote(endpoint: "files", path: "")),
      ("f-1_x:a:b", .remote(endpoint: "f-1_x", path: "a:b")),
      ("Files:a", .local("Files:a")), ("a b:c", .local("a b:c")), ("ä:c", .local("ä:c")),
      ("http://h/p?q=1", .url("http://h/p?q=1")), ("HTTPS://h", .url("HTTPS://h")),
      ("http:x", .remote(endpoint: "http", path: "x")), ("dir/a:b", .local("dir/a:b")),
    ] as [(String, Place)] {
      #expect(Place(text) == place, "\(text)")
    }
  }

  /// A query may be a signature, whatever character it begins with.
  @Test(arguments: [
    ("https://h/a?s=1", "https://h/a?s=2", false), ("https://h/a?\u{301}1", "https://h/a", false),
    ("https://h/a", "https://h/b", true), ("https://h/\u{e9}", "https://h/e\u{301}", true),
  ])
  func movesWithoutItsQuery(_ one: String, _ other: String, _ isElsewhere: Bool) {
    #expect(Place(one).isElsewhere(than: Place(other)) == isElsewhere)
  }

  @Test func textRoundTrips() {
    for place in [
      .local("a/b"), .local("/a:b"), .local("files:x"), .local("http"), .local("./files:x"), .local("ü"),
      .remote(endpoint: "files", path: ""), .remote(endpoint: "files", path: "#?% ü:/"),
      .url("https://h/?s=1"),
    ] as [Place] {
      let back = Place(place.text)
      if case .local(let path) = place, case .local(let read) = back {
        #expect(read == path || read == "./" + path)
      } else {
        #expect(back == place)
      }
      #expect(back.isLocal == place.isLocal)
    }
  }
}
