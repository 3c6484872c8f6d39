import Testing

@testable import SFTPClient

/// How many bytes are under way, and who may send the next ones.
struct SendWindowTests {
  private let window = SendWindow(most: 100)

  private func entering(_ bytes: Int) async throws -> Task<Void, any Error> {
    let before = window.waiting
    let task = Task { [window] in try await window.enter(bytes) }
    while window.waiting == before { try await Task.sleep(for: .milliseconds(1)) }
    return task
  }

  @Test func whoComesBehindWaitsInLine() async throws {
    try await window.enter(60)
    try await window.enter(40)
    let large = try await entering(80)
    let small = try await entering(10)
    window.leave(60)
    #expect(window.waiting == 2, "the small one does not overtake")
    window.leave(40)
    _ = try await (large.value, small.value)
    #expect(window.waiting == 0)
    // 90 are under way.
    let last = try await entering(11)
    window.leave(10)
    try await last.value
  }

  @Test func moreThanTheWindowGoesAlone() async throws {
    try await window.enter(1)
    let huge = try await entering(1000)
    window.leave(1)
    try await huge.value
    let next = try await entering(1)
    #expect(window.waiting == 1, "nothing goes beside it")
    window.leave(1000)
    try await next.value
  }

  /// Who is cancelled leaves the line, and holds up nobody behind.
  @Test func theCancelledLeave() async throws {
    try await window.enter(50)
    let large = try await entering(80)
    let small = try await entering(10)
    large.cancel()
    await #expect(throws: CancellationError.self) { try await large.value }
    try await small.value
    #expect(window.waiting == 0)
  }

  @Test func theEndLetsAllGo() async throws {
    try await window.enter(100)
    let waiting = try await entering(80)
    window.end()
    try await waiting.value
    try await window.enter(1000)
  }
}
