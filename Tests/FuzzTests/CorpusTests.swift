import Foundation
import Testing

/// Every input that fuzzing kept, run again: what once crashed stays mended.
struct CorpusTests {
  static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Corpus")

  @Test(arguments: FuzzTarget.allCases)
  func corpus(target: FuzzTarget) async throws {
    let folder = Self.folder.appendingPathComponent(target.rawValue)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(!names.isEmpty, "no corpus for \(target)")
    for name in names {
      let bytes = Array(try Data(contentsOf: folder.appendingPathComponent(name)))
      // On a thread of its own: a target may wait for what runs on Swift's.
      let fault: (any Error)? = await withCheckedContinuation { done in
        Thread.detachNewThread {
          do {
            try target.run(bytes)
            done.resume(returning: nil)
          } catch {
            done.resume(returning: error)
          }
        }
      }
      #expect(fault == nil, "\(target)/\(name)")
    }
  }
}
