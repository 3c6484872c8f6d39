import JobModel
import Testing

/// Secrets in texts of strangers, in the codings that they come in.
struct SecretMaskTests {
  private func mask(_ secrets: String...) -> SecretMask {
    let mask = SecretMask()
    for secret in secrets { mask.learn(Secret(secret)) }
    return mask
  }

  @Test(arguments: [
    ("s3cr3t/of+tin", "<***>"), ("s3cr3t%2Fof%2Btin", "<***>"), ("s3cr3t%2fof+tin", "<***>"),
    (#"s3cr3t\/of+tin"#, "<***>"), (#"s3cr3t\u002fof\u002Btin"#, "<***>"),
    ("czNjcjN0L29mK3Rpbg==", "<***==>"), ("czNjcjN0L29mK3Rpbg", "<***>"),
    ("%73%33%63%72%33%74%2f%6f%66%2b%74%69%6e", "<***>"), ("s3cr3t/of+ti", "<s3cr3t/of+ti>"),
    ("s3cr3t%2of+tin", "<s3cr3t%2of+tin>"), ("%", "<%>"), (#"\u00"#, #"<\u00>"#),
    ("S3CR3T/OF+TIN", "<S3CR3T/OF+TIN>"), ("s3c…", "<***…>"), ("s3cr3t/of+ti…", "<***…>"),
    ("s3cr3t%2Fo…", "<***…>"), ("s3cr3t%2…", "<***…>"), ("czNjcj…", "<***…>"), ("s3…", "<s3…>"),
    ("s3cr4t…", "<s3cr4t…>"),
  ])
  func codings(_ text: String, _ masked: String) {
    let mask = mask("s3cr3t/of+tin")
    #expect(mask.masked("<\(text)>") == masked)
    #expect(mask.finds(in: "<\(text)>") == (masked != "<\(text)>"))
  }

  /// What begins a coding may stand for itself, too; and a character may be more than one byte.
  @Test(arguments: [
    ("100%sure", "100%sure"), ("100%sure", "100%25sure"), ("100%25sure", "100%25sure"),
    ("100%25sure", "100%2525sure"), ("100%sure", "100%2…"), ("100%sure", "100%25s…"),
    (#"back\slash%41"#, #"back\slash%41"#), (#"back\slash%41"#, #"back\\slash%41"#),
    (#"back\slash%41"#, "back%5cslash%2541"), (#"back\slash%41"#, #"back\u005cslash\u002541"#),
    (#"R&D's "x<y>""#, "R&amp;D&#39;s &quot;x&lt;y&gt;&quot;"),
    (#"R&D's "x<y>""#, "R&#38;D&apos;s&#x20;&#34;x&#60;y&#X3e;&#x22;"), (#"R&D's "x<y>""#, "R&amp;D&#3…"),
    ("R&amp;D-key", "R&amp;D-key"), ("R&amp;D-key", "R&amp;amp;D-key"), ("plus+slash", "plus&#43;slash"),
    ("geheimwört", "geheimwört"), ("geheimwört", #"geheimw\u00f6rt"#),
    ("geheimwört", #"geheimw\u00c3\u00b6rt"#), ("geheimwört", "geheimw&#246;rt"),
    ("geheimwört", "geheimw%C3%B6rt"), ("key-\u{1F511}-of", #"key-\ud83d\udd11-of"#),
    ("user-key", #"\u0075ser-key"#),
  ])
  func readings(_ secret: String, _ text: String) {
    let masked = mask(secret).masked("<\(text)>")
    #expect(masked == (text.hasSuffix("…") ? "<***…>" : "<***>"))
  }

  /// Another character than the secret's is left, and so is what only looks like a coding.
  @Test(arguments: [
    "100%24sure", "100%", "100&amp", "100&percent;sure", "100&#;sure", "100&#x;sure", "100&#99999999;sure",
    #"100\ud83dsure"#, #"100\u"#, "&", #"\"#, "%",
  ])
  func otherCharacters(_ text: String) {
    #expect(mask("100%sure").masked("<\(text)>") == "<\(text)>")
  }

  /// Only in texts: what is used and recorded may be the name of a signature's own.
  @Test func digitsBehindALabel() {
    let mask = SecretMask()
    mask.learn(label: "Signature=")
    let digits = String(repeating: "0aF9", count: 16)
    for (text, masked) in [
      ("SignedHeaders=host, Signature=\(digits) there", "SignedHeaders=host, *** there"),
      ("Signature%3D\(digits)&x=1", "***&x=1"), ("Signature=2b16a97d…", "***…"),
      ("Signature=none", "Signature=none"), ("Signature", "Signature"), (digits, digits),
    ] {
      #expect(mask.masked(text) == masked && !mask.finds(in: text))
    }
  }

  @Test func blanks() {
    let mask = mask("a secret phrase")
    #expect(mask.masked("q=a+secret+phrase&r=a%20secret%20phrase") == "q=***&r=***")
  }

  @Test func theLongestCounts() {
    #expect(mask("secret", "secret-and-more").masked("secret-and-more, secret") == "***, ***")
  }

  @Test func whatIsShortIsAWord() {
    let mask = mask("tests", "")
    mask.learn(plain: "")
    #expect(mask.masked("the tests") == "the tests" && mask.isEmpty)
  }

  @Test func keysOfSeveralLines() {
    #expect(mask("-----BEGIN KEY-----\nMIIEow\n").masked("it says MIIEow") == "it says ***")
  }

  @Test func users() {
    let mask = SecretMask()
    mask.learn(user: "me", password: Secret("pass-word"))
    // base64 of `me:pass-word`.
    #expect(mask.masked("Basic bWU6cGFzcy13b3Jk") == "Basic ***")
  }

  @Test func whatIsRecorded() {
    var progress = TransferProgress()
    progress.remote.etag = "\"secret-tag\""
    progress.remote.version = "7"
    progress.remote.fileName = "secret-tag.bin"
    progress.remoteID = "x/secret-tag"
    progress.failure = Failure(.notFound, "no secret-tag there", expected: "secret-tag")
    let clean = progress.without(mask("secret-tag"))
    #expect(clean.remote.etag == nil && clean.remote.fileName == nil && clean.remote.version == "7")
    #expect(
      clean.remoteID == "x/***" && clean.failure?.message == "no *** there"
        && clean.failure?.expected == "***")
    #expect(progress.without(SecretMask()) == progress)
  }
}
