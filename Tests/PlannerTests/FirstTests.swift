import JobModel
import Testing

@Suite struct FirstTests {
  @Test func `plain, glob and rows`() throws {
    let fixture = try PlanFixture([
      "masters/a.mov": "aaa", "masters/sub/ü b.mov": "bb", "masters/.hidden.mov": "", "masters/x.tmp": "",
      "list.csv":
        "\u{FEFF}path,sha256,n\r\na/b.bin,,1\r\n\"c\nd\",\(String(repeating: "A", count: 64)),2\r\n",
    ])
    defer { fixture.remove() }
    let outcome = try fixture.plan(
      """
        - { id: deck, download: "depot:0f3c", to: ./decks/../decks/q3.pdf, expect: { size: 4KB } }
        - { id: m, upload: "./masters/**/*.mov", to: "depot:2026/" }
        - id: rows
          for_each: { csv: list.csv }
          download: "web:${each.path}"
          to: "legacy/${each.path}"
          expect: { sha256: "${each.sha256}", size: "${each.n}" }
          needs: [deck, m]
        - { id: one, upload: masters/a.mov, to: "depot:" }
        - { id: two, download: "http://x/y?sig=1", to: decks/ }
      """)
    try #require(outcome.lines == [])
    #expect(
      outcome.ids == [
        "deck", "m/.hidden.mov", "m/a.mov", "m/sub/%C3%BC%20b.mov", "rows/legacy/a/b.bin",
        "rows/legacy/c%0Ad",
        "one", "two",
      ])
    #expect(
      outcome.destinations == [
        "decks/q3.pdf", "depot:2026/.hidden.mov", "depot:2026/a.mov", "depot:2026/sub/ü b.mov",
        "legacy/a/b.bin",
        "legacy/c\nd", "depot:a.mov", "decks/",
      ])
    #expect(outcome.transfers.map(\.knownSize) == [nil, 0, 3, 2, nil, nil, 3, nil])
    #expect(outcome.transfers[4].expect == Expectation(size: 1))
    #expect(outcome.transfers[5].expect.digests[.sha256] == String(repeating: "a", count: 64))
    #expect(outcome.transfers[4].settings.needs == ["deck", "m/**"])
    #expect(outcome.transfers[4].mark.text == "jobs/list.csv:2:1")
    #expect(outcome.transfers[7].takesSourceName)
    #expect(outcome.transfers[0].expect.size == 4000)
  }
}
