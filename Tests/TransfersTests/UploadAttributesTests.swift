import Endpoints
import JobModel
import Synchronization
import Testing

@testable import Transfers

/// What is reported of attributes is what the object has, whichever attempt sent it.
struct UploadAttributesTests {
  private static let part: Int64 = 5 << 20
  /// Two parts.
  private static let large = [UInt8](repeating: 7, count: Int(part)) + pattern(1000)

  private static func store(_ bytes: [UInt8]) -> FakeStore {
    let store = FakeStore()
    store.put(
      "h/b/src", bytes, ["Content-Type": "text/x", "x-amz-tagging": "t=v", "x-amz-meta-owner": "anna"])
    return store
  }

  private static func rig(_ preserve: PreserveRule) throws -> Rig {
    try Rig(.copy, chunkSize: part) {
      $0.policy.chunksInFlight = 1
      $0.preserve = preserve
    }
  }

  private static func run(
    _ rig: Rig, _ store: FakeStore, stopped: Bool = false,
    changing change: (inout TransferSettings) -> Void = { _ in }
  ) async throws -> Rig.Outcome {
    try await rig.run(
      from: "store:src", to: "other:dst", changing: change,
      stopAfter: { event in
        guard stopped, case .chunk = event else { return false }
        return true
      }, response: { store.response($0) })
  }

  /// Tags that the store refused when the session was opened are lost, also where a later attempt goes on with it.
  @Test func whatWasRefusedStaysLost() async throws {
    let (rig, store) = (try Self.rig(.available), Self.store(Self.large))
    store.state.withLock { $0.refusesTags = true }
    let killed = try await Self.run(rig, store, stopped: true)
    #expect(killed.state == .paused(.interrupted) && killed.progress.session != nil)
    #expect(killed.progress.attributes.lost == [.tags])
    let next = try await Self.run(rig, store)
    #expect(next.state == .completed, "\(String(describing: next.progress.failure))")
    #expect(store.state.withLock { $0.opened } == 1 && store["o/b/dst"]?.bytes == Self.large)
    #expect(next.progress.attributes.lost == [.tags])
    #expect(next.progress.attributes.preserved == [.contentType, .metadata])
  }
}
