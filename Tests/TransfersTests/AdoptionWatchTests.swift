import Testing

@testable import Transfers

struct AdoptionWatchTests {
  @Test func smallFilesStopAskingAfterEightMisses() {
    let watch = AdoptionWatch()
    for _ in 0..<8 {
      #expect(watch.isWorthAsking("https://h", size: 1))
      watch.note("https://h", tellsDigest: false)
    }
    #expect(!watch.isWorthAsking("https://h", size: (1 << 20) - 1))
    #expect(watch.isWorthAsking("https://h", size: 1 << 20), "a large file is worth a request in any case")
    #expect(watch.isWorthAsking("https://other", size: 1))
    watch.note("https://h", tellsDigest: true)
    #expect(watch.isWorthAsking("https://h", size: 1))
  }
}
