import Testing

@testable import HTTPClient

/// One request for many who send into one folder at the same time.
struct MadeFoldersTests {
  private let folders = MadeFolders()
  private let key = MadeFolders.Key(endpoint: "dav", folder: "https://h/dav/in/")

  /// Three who come while the first one makes the folder: none of them makes it, whatever it is answered.
  @Test(arguments: [true, false]) func whoComesMeanwhileWaits(_ isAnswered: Bool) async throws {
    #expect(await folders.mustMake(key, mayWait: true))
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<3 { group.addTask { [folders, key] in await folders.mustMake(key, mayWait: true) } }
      while folders.waiting(key) < 3 { try await Task.sleep(for: .milliseconds(1)) }
      folders.end(key, isAnswered: isAnswered)
      for try await mustMake in group { #expect(!mustMake) }
    }
    #expect(await folders.mustMake(key, mayWait: true) == !isAnswered)
  }

  @Test func whoMayNotWaitMakesItAsWell() async {
    #expect(await folders.mustMake(key, mayWait: true))
    #expect(await folders.mustMake(key, mayWait: false))
    folders.end(key, isAnswered: true)
    folders.end(key, isAnswered: false)
    #expect(await folders.mustMake(key, mayWait: false) == false)
  }

  @Test func eachFolderIsOneOfItsEndpoint() async {
    folders.end(key, isAnswered: true)
    #expect(await folders.mustMake(MadeFolders.Key(endpoint: "other", folder: key.folder), mayWait: true))
  }
}
