import JobModel
import Testing

/// Addresses and hosts as policies judge them.
struct AddressTests {
  @Test(arguments: [
    ("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("::", "::"), ("2001:db8::1", "2001:db8::1"),
    ("2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"), ("::ffff:127.0.0.1", "::ffff:127.0.0.1"),
    ("::ffff:7f00:1", "::ffff:127.0.0.1"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"), ("1::", "1::"),
    ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
  ]) func strictAddresses(text: String, written: String) { #expect(IPAddress(text)?.description == written) }

  @Test(arguments: [
    "", "1", "127.1", "0177.0.0.1", "127.0.0.01", "256.0.0.1", "1.2.3.4.5", "1.2.3.-4", ":", ":1", "1:",
    "1::2::3",
    "12345::", "1:2:3:4:5:6:7:8:9", "::1.2.3", "1.2.3.4::", "g::", "::ffff:1.2.3.400", "[::1]",
    "fe80::1%eth0",
    "1:2:3:4:5:6:7:8::", "+1.2.3.4", "::+1",
  ]) func whatIsNoAddress(text: String) { #expect(IPAddress(text) == nil) }

  @Test(arguments: [
    ("2130706433", "127.0.0.1"), ("0x7f000001", "127.0.0.1"), ("0177.0.0.1", "127.0.0.1"),
    ("127.1", "127.0.0.1"),
    ("0x7f.1", "127.0.0.1"), ("0", "0.0.0.0"), ("10.258", "10.0.1.2"), ("0xA9FEA9FE", "169.254.169.254"),
    ("017700000001", "127.0.0.1"), ("4294967295", "255.255.255.255"),
  ]) func looseAddresses(text: String, meant: String) {
    #expect(IPAddress(looselyWritten: text)?.description == meant)
  }

  @Test(arguments: ["4294967296", "1.2.3.4.5", "1.16777216", "256.1", "abc", "1.2.x", "08", "", "."])
  func whatIsNoLooseAddressEither(text: String) { #expect(IPAddress(looselyWritten: text) == nil) }

  @Test(arguments: [
    ("loopback", "127.0.0.1", true), ("loopback", "127.255.255.255", true), ("loopback", "128.0.0.1", false),
    ("loopback", "::1", true), ("loopback", "::ffff:127.0.0.1", true), ("loopback", "0.0.0.0", true),
    ("loopback", "::", true), ("loopback", "64:ff9b::7f00:1", true), ("loopback", "2002:7f00:1::", true),
    ("loopback", "::127.0.0.1", true), ("loopback", "::2", false),
    ("private", "10.1.2.3", true), ("private", "172.31.255.255", true), ("private", "172.32.0.0", false),
    ("private", "192.168.0.1", true), ("private", "100.64.0.1", true), ("private", "fd00::1", true),
    ("private", "8.8.8.8", false), ("private", "::ffff:192.168.1.1", true), ("private", "2001:db8::1", false),
    ("link-local", "169.254.169.254", true), ("link-local", "fe80::1", true), ("link-local", "febf::1", true),
    ("link-local", "fec0::1", false), ("link-local", "::ffff:169.254.169.254", true),
    ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false),
    ("10.0.0.0/9", "10.128.0.0", false),
    ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7", "192.0.2.8", false), ("0.0.0.0/0", "8.8.8.8", true),
    ("0.0.0.0/0", "2001:db8::1", false), ("2001:db8::/33", "2001:db8:7fff::1", true),
    ("2001:db8::/33", "2001:db8:8000::1", false), ("0.0.0.0/0", "::ffff:8.8.8.8", true),
    ("::ffff:127.0.0.0/104", "127.1.2.3", true), ("::ffff:127.0.0.0/104", "::ffff:127.1.2.3", true),
    ("::ffff:127.0.0.0/104", "128.0.0.1", false), ("::ffff:10.0.0.1", "10.0.0.1", true),
    ("::ffff:0:0/96", "8.8.8.8", true), ("::/95", "8.8.8.8", false),
  ]) func blocks(block: String, address: String, isIn: Bool) throws {
    #expect(try AddressBlock(block).contains(#require(IPAddress(address))) == isIn)
  }

  @Test(arguments: ["10.0.0.0/33", "10.0.0/8", "fd00::/129", "lan", "1.2.3.4/", "10.0.0.0/-1", ""])
  func whatIsNoBlock(text: String) { #expect(throws: ValueFault.self) { try AddressBlock(text) } }

  @Test(
    arguments: [
      ("files.example.net", ["*.example.net"], [], true), ("a.b.example.net", ["*.example.net"], [], true),
      ("FILES.Example.NET.", ["*.example.net"], [], true), ("example.net", ["*.example.net"], [], false),
      ("evilexample.net", ["*.example.net"], [], false),
      ("example.net.evil.org", ["*.example.net"], [], false),
      ("x", [], [], true), ("evil.org", [], ["evil.org"], false), ("EVIL.org.", [], ["evil.org"], false),
      ("a.evil.org", [], ["*.evil.org"], false), ("good.net", ["good.net"], ["*"], false),
      ("127.0.0.1", [], ["127.0.0.1"], false), ("2130706433", [], ["127.0.0.1"], false),
      ("0x7f.1", [], ["127.0.0.*"], false), ("[::1]", [], ["::1"], false), ("[0:0::1]", [], ["[::1]"], false),
      ("[::ffff:127.0.0.1]", [], ["127.0.0.1"], false),
      ("good%40evil", [], [], false), ("evil%2eorg", [], ["evil.org"], false), ("a\\b", [], [], false),
      ("a b", [], [], false), ("a\u{0}b", [], [], false), ("ｅvil.org", [], ["evil.org"], false),
    ] as [(String, [String], [String], Bool)])
  func hosts(host: String, allowed: [String], denied: [String], isFine: Bool) {
    var policy = EffectivePolicy()
    policy.allowedHosts = allowed
    policy.deniedHosts = denied
    let objection = HostRules(policy).objection(to: host)
    #expect((objection == nil) == isFine, "\(objection ?? "no objection")")
  }
}
