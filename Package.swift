// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "AsyncUpload",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "AsyncUpload", targets: ["AsyncUpload"]),
        .executable(name: "upload", targets: ["upload"]),
    ],
    targets: [
        .target(
            name: "AsyncUpload",
            dependencies: [.target(name: "CLibcurl", condition: .when(platforms: [.linux]))]
        ),
        .target(name: "CLibcurl"),
        .target(name: "LoopbackServer"),
        .executableTarget(name: "upload", dependencies: ["AsyncUpload", "LoopbackServer"]),
        .target(name: "AllocationCounter", path: "Benchmarks/AllocationCounter"),
        .executableTarget(
            name: "Benchmarks",
            dependencies: ["AllocationCounter", "AsyncUpload", "LoopbackServer"],
            path: "Benchmarks",
            exclude: ["AllocationCounter", "charts.svg", "thresholds.json"]
        ),
        .testTarget(name: "AsyncUploadTests", dependencies: ["AsyncUpload", "LoopbackServer"]),
        .testTarget(
            name: "InteropTests",
            dependencies: ["upload", "AsyncUpload"],
            path: "Tests/Interop",
            exclude: ["constraints.txt", "nginx.conf", "parse_form.py", "tls_front.conf", "tus_app.py"]
        ),
        .testTarget(name: "BenchmarksTests", dependencies: ["Benchmarks"]),
        .testTarget(name: "LoopbackServerTests", dependencies: ["LoopbackServer"]),
        .testTarget(name: "UploadToolTests", dependencies: ["upload", "AsyncUpload", "LoopbackServer"]),
    ],
    swiftLanguageModes: [.v6]
)

// The sanitizer does not see what happens in other processes, and what is tested with those need not be built for it.
if Context.environment["SANITIZED"] != nil {
    let others = ["BenchmarksTests", "InteropTests", "LoopbackServerTests", "UploadToolTests"]
    package.targets.removeAll { others.contains($0.name) }
}

for target in package.targets where !["AllocationCounter", "CLibcurl"].contains(target.name) {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ]
    if Context.environment["CI"] != nil {
        target.swiftSettings?.append(.treatAllWarnings(as: .error))
    }
}
