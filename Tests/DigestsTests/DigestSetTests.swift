import Digests
import Testing

struct DigestSetTests {
  @Test func allSeeTheSameBytes() throws {
    let (kinds, content): (Set<DigestKind>, [UInt8]) = (Set(DigestKind.allCases), Array("haul".utf8))
    let set = try DigestSet(kinds)
    for byte in content { [byte].withUnsafeBytes { set.update($0) } }
    let found = set.finish()
    #expect(Set(found.keys) == kinds)
    for kind in kinds { #expect(try found[kind] == Digest.hex(of: content, kind)) }
  }
}
