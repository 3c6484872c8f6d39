import JobManifest
import JobModel
import Testing

/// Each fault of a transfer, at its place.
@Suite struct BrokenTransferTests {
  static let keys: [Broken] = [
    Broken(text: "  - ▶{ download: depot:x, to: x }", message: "a transfer needs `id`"),
    Broken(text: "  - { id: ▶\"a b\", download: depot:x, to: x }", message: "is not an id"),
    Broken(text: "  - ▶{ id: a, to: x }", message: "needs `download`, `upload` or `copy`"),
    Broken(text: "  - { id: a, download: depot:x, ▶upload: y, to: x }", message: "not both"),
    Broken(text: "  - ▶{ id: a, download: depot:x }", message: "a transfer needs `to`"),
    Broken(text: "  - { id: a, upload: ▶[a, b], to: \"depot:\" }", message: "a list as a source is reserved"),
    Broken(text: "  - { id: a, download: depot:x, to: x, ▶chunksize: 1 }", message: "no key `chunksize`"),
    Broken(
      text: "  - { id: a, download: depot:x, to: x, verify: ▶readback }",
      message: "`verify: readback` reads an upload back"),
    Broken(text: "  - { id: a, download: depot:x, to: x, ▶retries: 3 }", message: "has no key `retries`"),
    Broken(
      text: "  - { id: a, download: depot:x, to: x, ▶copy: depot:y }",
      message: "a transfer has `download` or `copy`, not both"),
    Broken(text: "  - { id: a, copy: ▶x, to: \"depot:\" }", message: "a copy comes from a remote"),
    Broken(text: "  - { id: a, copy: depot:x, to: ▶x }", message: "a copy goes to a remote"),
    Broken(
      text: "  - { id: a, copy: depot:x, to: \"depot:y\", ▶snapshot: copy }",
      message: "`snapshot` is for uploads"),
    Broken(text: "  - { id: a, download: depot:x, to: x, ▶prune: true }", message: "`prune` is reserved"),
    Broken(text: "  - { id: a, download: depot:x, to: x, then: ▶[] }", message: "a mapping is wanted"),
    Broken(text: "  - { id: a, download: depot:x, to: x, ▶limits: {} }", message: "`limits` does not belong"),
    Broken(
      text: "  - { id: a, download: depot:x, to: x, ▶transfers: 2 }",
      message: "does not belong into a transfer"),
    Broken(text: "  - { id: a, download: depot:x, to: ▶\"~/x\" }", message: "which haul does not expand"),
    Broken(
      text: "  - { id: a, for_each: { csv: ▶~/x.csv }, download: \"${each.u}\", to: \"x/${each.n}\" }",
      message: "the path `~/x.csv` begins with `~`, which haul does not expand"),
    Broken(text: "  - { id: a, download: ▶~/x, to: x }", message: "both sides are local"),
    Broken(text: "  - { id: a, upload: ▶$HOME/x, to: \"depot:\" }", message: "which haul does not expand"),
    Broken(
      text: "  - { id: a, download: depot:x, to: ▶d/.x.0123456789abcdef.haul-part }",
      message: "is a name of haul's own"),
    Broken(text: "  - ▶text", message: "a mapping is wanted"),
    Broken(text: "  - { id: a, download: depot:x, to: x, chunk_size: ▶0 }", message: "at least 1 byte"),
    Broken(text: "  - { id: a, download: depot:x, to: x, chunk_size: ▶4M }", message: "`4M` is not a size"),
    Broken(
      text: "  - { id: a, download: depot:x, to: x, verify: ▶always }", message: "`always` is not known"),
    Broken(
      text: "  - { id: a, download: depot:x, to: x, refresh: ▶change }", message: "`change` is not known"),
    Broken(text: "  - { id: a, download: depot:x, to: x, if_exists: ▶skip }", message: "`skip` is not known"),
    Broken(text: "  - { id: a, download: depot:x, to: x, mode: ▶\"0888\" }", message: "not a file mode"),
    Broken(text: "  - { id: a, download: depot:x, to: x, mtime: ▶remote }", message: "`remote` is not known"),
    Broken(text: "  - { id: a, download: depot:x, to: x, enabled: ▶yes }", message: "`yes` is not a boolean"),
    Broken(
      text: "  - { id: a, download: depot:x, to: x, ▶content_type: text/plain }", message: "is for uploads"),
    Broken(
      text: "  - { id: a, upload: x, to: \"depot:\", content_type: ▶text }", message: "not a media type"),
    Broken(text: "  - { id: a, upload: x, to: \"depot:\", ▶mode: \"0644\" }", message: "is for downloads"),
    Broken(
      text: "  - { id: a, upload: x, to: \"web:x\", verify: ▶required }",
      message: "`verify: required` can't be met"),
    Broken(
      text: "  - { id: a, download: depot:x, to: x, expect: { sha256: ▶abc } }",
      message: "a sha256 digest of 3 characters"),
    Broken(
      text: "  - { id: a, download: depot:x, to: x, expect: { crc32c: ▶0000000g } }", message: "is not hex"),
    Broken(
      text: "  - { id: a, download: depot:x, to: x, expect: { type: ▶text/plain } }",
      message: "there is no rule"),
    Broken(
      text: "  - { id: a, download: depot:x, to: x, expect: { ▶sha265: a } }", message: "no key `sha265`"),
    Broken(text: "  - { id: a, download: depot:x, to: x, expect: ▶abc }", message: "a mapping is wanted"),
    Broken(
      text: "  - { id: a, download: depot:x, to: x, headers: { X-A: ▶[a] } }", message: "a mapping is wanted"),
    Broken(
      text: "  - { id: a, download: depot:x, to: x, policy: { ▶windows: [] } }", message: "no key `windows`"),
    Broken(text: "  - { id: a, download: depot:x, to: x, ▶include: [a] }", message: "is for fan-outs"),
    Broken(text: "  - { id: a, download: depot:x, to: x, needs: [▶b] }", message: "`b` matches no transfer"),
    Broken(text: "  - { id: a, download: depot:x, to: x, needs: [▶a] }", message: "runs in a circle: a → a"),
    Broken(
      text:
        "  - { id: a, download: depot:x, to: x, needs: [c] }\n  - { id: b, download: depot:x, to: y, needs: [▶a] }\n  - { id: c, download: depot:x, to: z, needs: [b] }",
      message: "a → c → b → a"),
    Broken(
      text: "  - { id: a, download: depot:x, to: x }\n  - { id: ▶a, download: depot:y, to: y }",
      message: "the id `a` is taken by the transfer at line 8"),
    Broken(
      text: "  - { id: a, download: depot:x, to: x }\n  - { id: b, download: depot:y, to: ▶./x }",
      message: "is the destination of `a` at line 8 too"),
    Broken(
      text: "  - { id: a, upload: d/x, to: \"depot:\" }\n  - { id: b, upload: y, to: ▶depot:x }",
      message: "is the destination of `a` at line 8 too"),
  ]

  static let places: [Broken] = [
    Broken(text: "  - { id: a, download: ▶x, to: y }", message: "both sides are local"),
    Broken(text: "  - { id: a, download: depot:x, to: ▶web:y }", message: "both sides are remote"),
    Broken(text: "  - { id: a, upload: ▶depot:x, to: web:y }", message: "both sides are remote"),
    Broken(text: "  - { id: a, upload: x, to: ▶y }", message: "both sides are local"),
    Broken(text: "  - { id: a, download: ▶depo:x, to: x }", message: "the endpoint `depo` is not declared"),
    Broken(text: "  - { id: a, download: ▶\"ftp://h/x\", to: x }", message: "`ftp` URLs are not spoken"),
    Broken(
      text: "  - { id: a, download: ▶\"https://u:p@h/x\", to: x }", message: "a secret is never written"),
    Broken(text: "  - { id: a, download: depot:x, to: ▶../x }", message: "lies outside"),
    Broken(text: "  - { id: a, download: depot:x, to: ▶a/../../x }", message: "lies outside"),
    Broken(text: "  - { id: a, download: depot:x, to: ▶/etc/x }", message: "lies outside"),
    Broken(text: "  - { id: a, download: depot:x, to: ▶\"\" }", message: "`to` is empty"),
    Broken(text: "  - { id: a, download: depot:x, to: ▶[x] }", message: "`to` is a list here"),
    Broken(text: "  - { id: a, upload: x, to: ▶[] }", message: "`to` is a list here"),
    Broken(text: "  - { id: a, download: depot:x, to: ▶\"${each.a}\" }", message: "without `for_each`"),
    Broken(
      text: "  - { id: a, download: depot:x, to: ▶\"${source.name}\" }",
      message: "belongs into `to` of a fan-out"),
    Broken(text: "  - { id: a, download: depot:x, to: ▶\"${nope}\" }", message: "`${nope}` is unknown"),
    Broken(text: "  - { id: a, download: depot:x, to: ▶\"${}\" }", message: "names nothing"),
    Broken(text: "  - { id: a, download: depot:x, to: ▶\"${var.set\" }", message: "is not closed"),
    Broken(text: "  - { id: a, download: depot:x, to: ▶\"${var.set|upper}\" }", message: "no filter `upper`"),
    Broken(
      text: "  - { id: a, upload: \"m/*.mov\", to: ▶depot:x }",
      message: "every file would land at this one destination"),
    Broken(text: "  - { id: a, upload: ▶\"m/[a.mov\", to: \"depot:m/\" }", message: "is not closed"),
    Broken(
      text: "  - { id: a, upload: \"m/*.mov\", to: \"depot:m/\", exclude: [▶\"[b\"] }",
      message: "is not closed"),
    Broken(
      text: "  - { id: a, for_each: ▶{ csv: a, list: b }, download: depot:x, to: \"${each.p}\" }",
      message: "exactly one of"),
    Broken(
      text: "  - { id: a, for_each: { list: b, ▶columns: [a] }, download: depot:x, to: \"${each.line}\" }",
      message: "`columns` are of a csv"),
    Broken(
      text: "  - { id: a, for_each: { list: b }, download: depot:x, to: ▶y/ }",
      message: "every row would have one id"),
    Broken(
      text: "  - { id: a, for_each: { list: b, key: ▶k }, download: depot:x, to: \"y/${each.line}\" }",
      message: "every row would have one id"),
    Broken(
      text: "  - { id: a, for_each: { list: b }, download: depot:x, to: ▶\"${uuid}\" }",
      message: "needs a `key`"),
    Broken(
      text: "  - { id: a, for_each: { list: b }, upload: ▶\"m/*\", to: \"depot:${each.line}\" }",
      message: "a glob and `for_each`"),
    Broken(text: "  - { id: ▶\"${run.id}\", download: depot:x, to: x }", message: "can't be used in `id`"),
    Broken(
      text: "  - { id: a, download: depot:x, to: x, headers: { X-A: ▶\"${env.HOME}\" } }",
      message: "is refused in `headers`"),
  ]

  static let bounds: [Broken] = [
    Broken(text: glob("▶5"), message: "a mapping is wanted"),
    Broken(text: glob("{ ▶sizes: { min: 1 } }"), message: "`where` has no key `sizes`"),
    Broken(text: glob("{ size: { ▶least: 1 } }"), message: "`size` has no key `least`"),
    Broken(text: glob("{ size: { min: ▶1M } }"), message: "`1M` is not a size"),
    Broken(text: glob("{ size: { min: 2, max: ▶1 } }"), message: "`max` is less than `min`"),
    Broken(text: glob("{ modified: { after: ▶yesterday } }"), message: "`yesterday` is not a time"),
    Broken(text: glob("{ modified: { after: ▶2026-02-30 } }"), message: "`2026-02-30` is not a time"),
    Broken(
      text: glob("{ modified: { after: 1d, before: ▶2d } }"), message: "`before` is not later than `after`"),
    Broken(
      text: glob("{ modified: { after: 2026-02-01, before: ▶2026-02-01 } }"),
      message: "`before` is not later than `after`"),
    Broken(
      text: "  - { id: a, upload: x, to: \"depot:y\", ▶where: { size: { min: 1 } } }",
      message: "`where` is for fan-outs, and this is one file"),
    Broken(
      text:
        "  - { id: a, for_each: { list: b }, upload: \"${each.line}\", to: \"depot:${each.line}\", ▶where: {} }",
      message: "nothing tells the size or the time of a row"),
  ]

  static let attributes: [Broken] = [
    Broken(text: up("preserve: ▶tagz"), message: "`tagz` is not an attribute"),
    Broken(text: up("preserve: [tags, ▶owner!]"), message: "`owner!` is not an attribute"),
    Broken(text: up("preserve: [tags, ▶tags!]"), message: "`tags` is there twice"),
    Broken(text: up("preserve: [tags, ▶none]"), message: "`none` stands with other words"),
    Broken(text: up("preserve: ▶available!"), message: "`available!` is not an attribute"),
    Broken(text: up("preserve: ▶{ tags: true }"), message: "a list is wanted"),
    Broken(text: up("metadata: ▶[a]"), message: "a mapping is wanted"),
    Broken(text: up("metadata: { ▶\"a b\": c }"), message: "the metadata `a b` can't be sent"),
    Broken(text: up("metadata: { a: ▶\"b\\nc\" }"), message: "the metadata `a` can't be sent"),
    Broken(text: up("metadata: { a: b, ▶A: c }"), message: "`A` is in `metadata` twice"),
    Broken(text: up("metadata: { a: ▶\"${each.x}\" }"), message: "without `for_each`"),
    Broken(text: up("tags: { a: ▶{ b: c } }"), message: "text is wanted"),
    Broken(text: up("storage_class: ▶\"\""), message: "is not a storage class"),
    Broken(
      text: "  - { id: a, upload: x, to: \"web:x\", ▶metadata: { a: b } }",
      message: "`metadata` is not taken by `http` destinations"),
    Broken(
      text: "  - { id: a, copy: \"web:x\", to: \"depot:x\", ▶tags: { a: b } }",
      message: "`tags` is not taken by `session` destinations"),
    Broken(
      text: "  - { id: a, upload: x, to: \"https://h/x\", ▶storage_class: GLACIER }",
      message: "`storage_class` is not taken by `http` destinations"),
    Broken(
      text: "  - { id: a, download: \"web:x\", to: x, ▶metadata: { a: b } }",
      message: "`metadata` is for uploads and copies, and this is a download"),
    Broken(
      text: "  - { id: a, download: \"web:x\", to: x, ▶storage_class: GLACIER }",
      message: "`storage_class` is for uploads and copies, and this is a download"),
  ]

  private static func up(_ key: String) -> String {
    "!\n" + Broken.head + "  s3: { type: s3, url: \"https://s3.example.net\", bucket: b }\n"
      + "transfers:\n  - { id: a, upload: x, to: \"s3:y\", \(key) }\n"
  }

  private static func glob(_ bounds: String) -> String {
    "  - { id: a, upload: \"m/*\", to: \"depot:m/\", where: \(bounds) }"
  }

  /// Whatever is wrong with an entry, all else that is wrong with it is told in the same pass, and nothing that is not.
  @Test(arguments: [
    ("  - { id: a, download: nope:f, to: ../x }", ["is not declared", "lies outside"]),
    ("  - { id: a, download: nope:f, to: x, snapshot: copy }", ["is not declared", "is for uploads"]),
    ("  - { download: depot:f, to: ../x }", ["needs `id`", "lies outside"]),
    ("  - { id: a, download: depot:f, snapshot: copy }", ["needs `to`", "is for uploads"]),
    ("  - { id: a, upload: x, to: nope:y, then: { post: \"nope2:z\" } }", ["`nope`", "`nope2`"]),
    (
      "  - { id: a, download: depot:f, to: x }\n  - { id: b, download: depot:f, to: x, chunk_siz: 1 }",
      ["no key `chunk_siz`", "is the destination of `a`"]
    ),
    (
      "  - { id: a, download: depot:f, to: x, refresh: maybe }\n  - { id: b, download: nope:f, to: x }",
      ["`maybe`", "is not declared", "is the destination of `a`"]
    ),
    ("  - { id: a, download: depot:f, to: nope:x }", ["is not declared"]),
    (
      "  - { id: a, for_each: { csv: ~/x.csv }, download: \"depot:${each.a}\", to: \"${each.a}\" }",
      ["~/x.csv"]
    ),
  ])
  func severalFaults(_ text: String, _ messages: [String]) {
    let errors = read(Broken.frame(text)).diagnostics.filter { $0.severity == .error }.map(\.message)
    #expect(errors.count == messages.count, "\(errors)")
    for message in messages { #expect(errors.contains { $0.contains(message) }, "\(message): \(errors)") }
  }

  @Test(arguments: keys + places + bounds + attributes)
  func fault(_ broken: Broken) { expectFault(broken) }
}
