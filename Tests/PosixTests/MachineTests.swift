import Glibc
import Posix
import Testing

struct MachineTests {
  @Test func clocks() {
    let (now, uptime) = (SystemClock.now, SystemClock.uptime)
    #expect(now > 1_700_000_000)
    #expect(SystemClock.uptime >= uptime)
  }

  @Test func surroundings() throws {
    #expect(!Machine.hostName.isEmpty)
    #expect(Machine.cores >= 1)
    #expect(Machine.accountHome.hasPrefix("/"))
    setenv("HAUL_TEST_VARIABLE", "a=b", 1)
    #expect(Machine.environment["HAUL_TEST_VARIABLE"] == "a=b")
    let words = try Files.read("/proc/self/cmdline").split(separator: 0, omittingEmptySubsequences: false)
    #expect(Machine.arguments.map { Array($0.utf8) } == words.dropLast().map { Array($0) })
  }

  @Test func threads() async throws {
    let depth = try await DedicatedThread.run { Self.depth(20_000) }
    #expect(depth == 20_000)
    struct Fault: Error {}
    await #expect(throws: Fault.self) { try await DedicatedThread.run { throw Fault() } }
  }

  private static func depth(_ left: Int) -> Int { left == 0 ? 0 : 1 + depth(left - 1) }
}
