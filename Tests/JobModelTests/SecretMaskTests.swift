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
