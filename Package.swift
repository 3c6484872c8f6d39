// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

/// A layer of haul: its name, and all that it may import.
func layer(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let sqlite = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")

let package = Package(
  name: "haul",
  products: [],
  dependencies: [
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
  ],
  targets: [
    .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .target(name: "CChecksums"),
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    // Header only: openat2 and reflink, which Swift's Glibc can't call.
    .target(name: "CPosix"),
    layer("Curl", ["CCurl"]),
    layer("Digests", ["CChecksums", "COpenSSL"]),
    layer("JobModel"),
    layer("Protocols", ["JobModel"]),
    layer(
      "TransferEngine", ["CPosix", "Curl", "Digests", "JobLedger", "JobModel", "Protocols"]),
    layer("JobLedger", ["JobModel", sqlite]),
  ]
)
