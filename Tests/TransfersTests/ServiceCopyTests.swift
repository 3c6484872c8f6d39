import Endpoints
import JobModel
import Testing

@testable import Transfers

/// When the service of both ends copies by itself, and in which parts.
struct ServiceCopyTests {
  private static let abilities = UploadAbilities(
    resumes: true, order: .any, minimumChunk: 5 << 20, maximumChunk: 5 << 30, maximumChunks: 10_000,
    emptyFile: .oneEmptyChunk)

  private static func mib(_ count: Int64) -> Int64 { count << 20 }

  private static let sizes: [(Int64, ChunkSize, Int64)] = [
    // Nothing is said: one request up to 1 GiB, then 256 MiB each, or so much that 10,000 suffice.
    (0, .standard, 1), (mib(1), .standard, mib(1)), (mib(1024), .standard, mib(1024)),
    (1_073_741_825, .standard, mib(256)), (mib(6144), .auto, mib(256)), (mib(40), .auto, mib(40)),
    (mib(2_560_001), .standard, mib(257)),
    // What is said counts, as far as S3 takes it.
    (mib(40), .bytes(mib(5)), mib(5)), (mib(40), .bytes(mib(1)), mib(5)),
    (mib(40), .bytes(mib(64)), mib(64)), (mib(20_480), .bytes(mib(8192)), mib(5120)),
  ]

  @Test(arguments: sizes)
  func parts(_ size: Int64, _ wanted: ChunkSize, _ part: Int64) {
    #expect(ServiceParts.bytes(of: size, wanted, Self.abilities) == part)
  }

  @Test(arguments: [
    ("e", "e"), ("\"e\"", "e"), ("W/\"e\"", "e"), ("\"", "\""), ("\"\"", ""), ("", ""), ("\"W/e\"", "W/e"),
  ])
  func etagsWithoutTheirQuotes(_ etag: String, _ bare: String) { #expect(ETag.bare(etag) == bare) }

  @Test(arguments: [
    (ErrorCode.protocolViolation, true, true), (.forbidden, true, true), (.unauthorized, true, true),
    (.integrityMismatch, true, false), (.lengthMismatch, true, false), (.digestUnavailable, true, false),
    (.remoteChanged, false, false), (.notFound, false, false), (.serverError, false, false),
    (.timeout, false, false), (.destinationExists, false, false),
  ])
  func whatIsLeftToTheRelay(_ code: ErrorCode, _ replaces: Bool, _ keeps: Bool) {
    let failure = Failure(code, "refused")
    #expect(ServiceCopy.leavesToRelay(failure, [], replaces: true) == replaces)
    #expect(ServiceCopy.leavesToRelay(failure, [], replaces: false) == keeps)
    let wrong = [Verification("sha256", .manifest, .mismatch)]
    #expect(!ServiceCopy.leavesToRelay(failure, wrong, replaces: true))
  }
}
