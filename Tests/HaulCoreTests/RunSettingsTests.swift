import Foundation
import TestSupport
import Testing

@testable import HaulCore

struct RunSettingsTests {
  /// A report's file is replaced by a new one: whose it is does not matter, its folder does.
  @Test(arguments: [
    ("there", true, ""), ("absent", true, ""), ("link", true, "/below"), ("/dev/null", true, "/dev/null"),
    ("there", false, "/there"), ("absent", false, ""), ("/dev/null", false, "/dev/null"),
  ])
  func whatMustBeWritable(_ name: String, _ isReplaced: Bool, _ place: String) throws {
    let scratch = try Scratch()
    let folder = Paths.real(scratch.path)
    try scratch.write("there", "old", mode: 0o400)
    try scratch.write("below/real", "old")
    try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: "below/real")
    let isAbsolute = name.hasPrefix("/")
    #expect(
      RunSettings.writtenPlace(of: isAbsolute ? name : folder + "/" + name, isReplaced: isReplaced)
        == (isAbsolute ? place : folder + place))
  }
}
