import Testing

@testable import JobLedger

@Suite struct RowSetTests {
  @Test func `holds what was inserted, and nothing else`() {
    var set = RowSet()
    let rows: Set<Int64> = [0, 1, 63, 64, 4095, 4096, 1_000_000]
    for row in rows { set.insert(row) }
    for row in (Int64(0)...4200) { #expect(set.contains(row) == rows.contains(row)) }
    #expect(set.contains(1_000_000) && !set.contains(999_999) && !set.contains(.max >> 1))
  }
}
