import Digests
import Testing

/// Against `openssl dgst -sha256 -sign`, with a key that was made for this test alone.
struct RSASignatureTests {
  private static let key = """
    -----BEGIN RSA PRIVATE KEY-----
    MIICXAIBAAKBgQCbQJ3bQ7OPyRW0leIkvYqPy4KPwXoVqSWrR73DpeBKkx5QsE0q
    CYUCqJoxQLhV9lL8A4jdBE9kY6Az6SIAttIPydLvkhycQ/7DEGbvyuRSbNDUvF/S
    BmNoUIfvCLX2aHff7qbOrELDFWicEhlyHxUOUT27TYKx9f9qI3xgQ70o/QIDAQAB
    AoGAdAyM8sVch3IsA1y2Ofhkhq/83DAnbeGOAsYRlxl62sO1uWLPi0iqYB5fg8l5
    AOirhy2tNGhwX/4IVkVB4X7G7VRG7ftnLnzKkst+kQElbk5/R4p3eKcs4RyIrDPA
    0ly/gFwxCtwN0t0d5fndnX730TtEZnYgh3FXsAc0Mj+jVBECQQDIrBoiCcIey18F
    253sJWkez/0yDOhBExduoxIP0Q6264BSymNRenbtG2LjR+rrwDWeARRmxh/Zbyeo
    +r47gpenAkEAxg6tyxm4KDSK6PzXgUZ916RLGrTj93537AXNdb4udpItwbAxgpQL
    opoBT2iTvUOUWhOm6LTu0+4LbPXDSjDOuwJAY+JuW5T53/Qgxzyqnbl9Wo3ynLAa
    BxImrrZSrjbEGT6dsBf3Wb4YZiskjLbmcxRIW+5zpjhl8AfI+O5eNCbrrwJAKqEa
    My7z/mNgyskxMXgUugd4yuTIdIraEQkmsgMfSRIpmxjrbymiX3s6cPcXZZNYKRM1
    x7y58w+3kdpMEHn05QJBAKwTv605HmATtyPavqso7uk/iHh4yXUWi3jbVercpCSA
    m7I2jgOf6CYAaRN3h0wJwZ23GFvM+CHg+kCKJXvIXas=
    -----END RSA PRIVATE KEY-----
    """
  private static let curve = """
    -----BEGIN EC PRIVATE KEY-----
    MHcCAQEEIBcpQejEfTzAX86J3Wjv8Ds714MuHtyd/hUMrSmC/OmloAoGCCqGSM49
    AwEHoUQDQgAE77KgJaMYh12wXsNSFVBLBZRFmZQ1JtN/mp5TXIuCiryCKLc0sO23
    4HWjnASQmA8g1iS7X/7ZmlXob/uViwN2JQ==
    -----END EC PRIVATE KEY-----
    """

  @Test func equalsOpenSSLs() throws {
    let signature = try RSASignature.sha256(Array("header.claims".utf8), pem: Self.key)
    #expect(
      Hex.encode(signature)
        == "6702180df333ad9fe41990c18cd0bc72317a58fccc833adf0a046ec0007029a1558b78c7142f49f2d410ec76435aaffc"
        + "0bdec2ff0c2f0d17690ee7f837eb5985b6d7cc987c1e0fe9b6158517dd74e7e14e40b11cfb5493acf26320e980125cba"
        + "307490ebcccd1d15118efbeeb0df9e770eac46a8b9ea60ec762aca96e966b0fe")
  }

  @Test func otherKeysAreRefused() {
    for pem in ["", "no key", Self.curve, String(Self.key.dropLast(200))] {
      #expect(throws: RSASignature.Fault.unreadableKey) { try RSASignature.sha256([1], pem: pem) }
    }
  }
}
