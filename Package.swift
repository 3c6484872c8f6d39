// swift-tools-version: 6.2
import PackageDescription

/// With HAUL_FUZZ set (`make fuzz`) haul's own targets are instrumented for libFuzzer, and the fuzz program is there.
let isFuzzing = Context.environment["HAUL_FUZZ"] != nil
let instrumented: [SwiftSetting] =
  isFuzzing ? [.unsafeFlags(["-sanitize=fuzzer", "-enable-testing"])] : []

let strict: [SwiftSetting] =
  [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
  ] + instrumented

/// A layer of haul: its name, and all that it may import.
func layer(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

/// A layer that little or nothing passes of what is done for each file, or only what is encrypted, asked for, or done by the system
/// at far more cost: small instead of fast, so that haul stays below 25 MB.
func coldLayer(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict + small)
}

let small: [SwiftSetting] = [.unsafeFlags(["-Osize"], .when(configuration: .release))]

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(name: name, dependencies: dependencies, swiftSettings: strict + small)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let lifecycle = "swift-service-lifecycle"

let fuzzed: [Target.Dependency] = [
  "DepotServer", "Endpoints", "JobManifest", "JobModel", "Planner", "Reporting",
  .product(name: "HTTPTypes", package: "swift-http-types"),
]
/// One set of entries: for the corpus they are part of a test target, for the fuzz program a library.
let fuzzing: [Target] =
  isFuzzing
  ? [
    .systemLibrary(name: "CFuzzer", path: "Tests/CFuzzer"),
    .target(
      name: "FuzzTargets", dependencies: fuzzed, path: "Tests/FuzzTests/Targets", swiftSettings: strict),
    .executableTarget(
      name: "fuzz", dependencies: ["CFuzzer", "FuzzTargets"], path: "Tests/Fuzz", swiftSettings: strict,
      linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld"])]),
  ] : [tests("FuzzTests", fuzzed)]

let package = Package(
  name: "haul",
  products: [
    .executable(name: "haul", targets: ["haul"]),
    .executable(name: "depot", targets: ["depot"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
    // What Hummingbird is made of, for depot, which streams through its core.
    .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
    .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
  ],
  targets: [
    // System libraries.
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    // Not through libcurl, whose SFTP pages no listings, sets no times, and renames over no file: see ARCHITECTURE.md.
    .systemLibrary(name: "CSSH2", pkgConfig: "libssh2", providers: [.apt(["libssh2-1-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    // Checksum instructions, which Swift has no intrinsics for.
    .target(name: "CChecksums"),
    // openat2, reflink and interfaces, which Swift's Glibc can't call.
    .target(name: "CPosix"),
    .target(name: "CDepotShims"),

    // Foundations: each knows nothing of jobs.
    layer("Locks"),
    layer("Posix", ["CPosix"]),
    layer("Curl", ["CCurl", "Posix"]),
    layer("Digests", ["CChecksums", "COpenSSL"]),
    layer("Gzip", ["CZlib"]),
    coldLayer("SSH", ["CSSH2", "Locks", "Posix"]),
    layer("SQLite", ["CSQLite", "Locks"]),
    coldLayer("YAML", ["CYAML"]),

    // The pure middle.
    layer("JobModel", ["Locks"]),
    coldLayer("Admission", ["JobModel", "Locks"]),
    coldLayer("TimeZones", ["JobModel", "Locks", "Posix"]),
    coldLayer("ManifestFields", ["JobModel", "YAML"]),
    coldLayer("Endpoints", ["CExpat", "Digests", "JobModel", "Locks", "ManifestFields"]),
    coldLayer("JobManifest", ["Endpoints", "JobModel", "ManifestFields", "TimeZones", "YAML"]),
    coldLayer("Planner", ["Digests", "Endpoints", "Gzip", "JobModel", "Posix"]),

    // What touches disk and network.
    layer("JobLedger", ["JobModel", "Locks", "Posix", "SQLite"]),
    coldLayer("LocalFiles", ["CPosix", "Digests", "Endpoints", "JobModel", "Locks"]),
    coldLayer(
      "HTTPClient",
      ["Admission", "CPosix", "Curl", "Digests", "Endpoints", "JobModel", "Locks", "Posix"]),
    // Beside HTTPClient, which knows it as the endpoints' `SFTPService` only.
    coldLayer("SFTPClient", ["Digests", "Endpoints", "JobModel", "Locks", "Posix", "SSH"]),
    layer(
      "Transfers",
      [
        "Admission", "CPosix", "Digests", "Endpoints", "HTTPClient", "JobLedger", "JobModel", "LocalFiles",
        "Locks",
      ]),
    coldLayer(
      "Maintenance",
      [
        "Admission", "CPosix", "Digests", "Endpoints", "HTTPClient", "JobLedger", "JobModel", "LocalFiles",
        "Posix", "Transfers",
      ]),
    coldLayer(
      "Scheduler",
      [
        "Admission", "Endpoints", "HTTPClient", "JobLedger", "JobModel", "Locks", "Maintenance", "Posix",
        "Transfers",
      ]),
    coldLayer("Preview", ["Endpoints", "JobLedger", "JobModel", "LocalFiles"]),
    coldLayer(
      "Reporting",
      ["Admission", "Endpoints", "JobLedger", "JobModel", "Locks", "Posix", "Transfers"]),
    layer(
      "DepotServer",
      [
        "CDepotShims", "COpenSSL", logging,
        .product(name: "HummingbirdCore", package: "hummingbird"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
        nioPosix,
        .product(name: "ServiceLifecycle", package: lifecycle),
      ]),

    // What the commands of haul do.
    coldLayer(
      "HaulCore",
      [
        "Admission", "CPosix", "Curl", "Digests", "Endpoints", "HTTPClient", "JobLedger", "JobManifest",
        "JobModel", "LocalFiles", "Locks", "Maintenance", "Planner", "Posix", "Preview", "Reporting",
        "SFTPClient", "Scheduler", "TimeZones", "Transfers", logging,
      ]),

    // The programs.
    program(
      "haul", ["CPosix", "HaulCore", "JobModel", "Posix", "Reporting", arguments]),
    program(
      "depot", ["CPosix", "DepotServer", arguments, .product(name: "UnixSignals", package: lifecycle)]),

    // Tests, one target a target.
    tests("AdmissionTests", ["Admission", "JobModel", "Locks", "TestSupport"]),
    tests("CurlTests", ["Curl"]),
    tests(
      "DepotServerTests",
      [
        "DepotServer", .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOHTTPTypes", package: "swift-nio-extras"), nioPosix,
      ]),
    tests("DigestsTests", ["CChecksums", "Digests"]),
    .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: strict),
    tests("EndToEndTests", ["TestSupport", "depot", "haul"]),
    tests(
      "HaulCoreTests",
      [
        "Digests", "Endpoints", "HaulCore", "HTTPClient", "JobLedger", "JobManifest", "JobModel", "Locks",
        "Planner", "Reporting", "SFTPClient", "Scheduler", "TestSupport", "Transfers",
      ]),
    tests("HTTPClientTests", ["Admission", "Curl", "Endpoints", "HTTPClient", "JobModel"]),
    tests("LocalFilesTests", ["Digests", "Endpoints", "JobModel", "LocalFiles", "TestSupport"]),
    tests("GzipTests", ["Gzip"]),
    tests("LocksTests", ["Locks"]),
    tests("PosixTests", ["Posix"]),
    tests("TimeZonesTests", ["JobModel", "TimeZones"]),
    tests("JobLedgerTests", ["JobLedger", "JobModel", "SQLite"]),
    tests("JobModelTests", ["JobModel"]),
    tests(
      "JobManifestTests",
      ["Endpoints", "JobManifest", "JobModel", "ManifestFields", "Planner", "TestSupport", "YAML"]),
    tests("PreviewTests", ["Endpoints", "JobLedger", "JobModel", "LocalFiles", "Preview", "TestSupport"]),
    tests("PlannerTests", ["Digests", "Endpoints", "JobManifest", "JobModel", "Planner"]),
    tests(
      "EndpointTests",
      [
        "Admission", "Curl", "DepotServer", "Digests", "Endpoints", "HTTPClient", "JobModel", "LocalFiles",
        "SFTPClient", "TestSupport",
      ]),
    tests("EndpointsTests", ["Digests", "Endpoints", "JobManifest", "JobModel", "TestSupport"]),
    tests("ReportingTests", ["JobLedger", "JobModel", "Reporting", "TestSupport", "Transfers"]),
    tests(
      "TransfersTests",
      [
        "Admission", "CPosix", "Digests", "Endpoints", "HTTPClient", "JobLedger", "JobModel", "LocalFiles",
        "Locks", "Maintenance", "SFTPClient", "Scheduler", "TestSupport", "Transfers",
      ]),
    tests(
      "SchedulerTests",
      ["Admission", "JobLedger", "JobModel", "Scheduler", "TestSupport"]),
    tests("SFTPClientTests", ["Endpoints", "JobModel", "Locks", "SFTPClient"]),
    tests("SQLiteTests", ["SQLite"]),
    tests("SSHTests", ["Posix", "SSH"]),
    tests("YAMLTests", ["YAML"]),
  ] + fuzzing
)
