import AsyncUpload
import Foundation
import Testing

extension Resuming {
    /// What the server has in the end is what was sent.
    @Suite struct Bodies {
        let bench: Bench

        init() async throws {
            bench = try await Bench()
        }

        private static let largeSize = 34_766_353

        /// What goes wrong at the parts' boundaries shows at these.
        private static func sizes(_ kind: ResumableServer.Kind) -> [Int] {
            let part = Int(kind.partSize)
            return [0, 1, part - 1, part, part + 1, largeSize].filter { $0 > 0 || kind.storesNothing }
        }

        @Test("Arrive in parts", arguments: Route.installed, [Body.data, .file, .streamOfKnownLength])
        func parts(route: Route, body: Body) async throws {
            let partSize = route.kind.partSize
            for size in Self.sizes(route.kind) {
                let target = try bench.target(route, .init(partSize: partSize))
                try await bench.expectArrival(of: randomBytes(size), as: body, at: target)
            }
        }

        @Test("Arrive as a whole", arguments: Route.installed, [Body.data, .file, .streamOfKnownLength])
        func whole(route: Route, body: Body) async throws {
            for size in [0, 1, Self.largeSize] where size > 0 || route.kind.storesNothing {
                let target = try bench.target(route, .init(singleRequestLimit: 1 << 30))
                try await bench.expectArrival(of: randomBytes(size), as: body, at: target)
            }
        }

        @Test("Arrive without a length", arguments: Route.installed)
        func unknownLength(route: Route) async throws {
            let partSize = route.kind.partSize
            for size in Self.sizes(route.kind) {
                let bytes = try randomBytes(size)
                let target = try bench.target(route, .init(partSize: partSize))
                guard !route.kind.defersLength, size > partSize else {
                    try await bench.expectArrival(of: bytes, as: .streamOfUnknownLength, at: target)
                    continue
                }
                // One says that it can defer the length, and then wants it with the first part; the other cannot.
                let error = await #expect(throws: UploadError.self) {
                    try await bench.uploader.response(
                        for: target.request,
                        from: Body.streamOfUnknownLength.of(bytes, in: bench.folder),
                        resuming: target.resuming
                    )
                }
                #expect(error?.code == .unacceptableStatus)
                #expect(error?.response?.statusCode == 400)
                #expect(error?.response?.text().contains("Upload-Length") == true)
            }
        }

        @Test("Arrive with the creation", arguments: Route.installed.filter(\.kind.isTus), [Body.data, .file])
        func withCreation(route: Route, body: Body) async throws {
            let partSize = route.kind.partSize
            for size in Self.sizes(route.kind) {
                let target = try bench.target(route, .init(partSize: partSize, sendsBodyWithCreation: true))
                try await bench.expectArrival(of: randomBytes(size), as: body, at: target)
            }
        }

        @Test("Arrive as three parts at the same time", arguments: Route.installed.filter { $0.kind != .gcsEmulator })
        func parallel(route: Route) async throws {
            let partSize = route.kind.isS3 ? route.kind.partSize : nil
            for body in [Body.data, .file] {
                for size in [0, 1, 2, 3, 5 << 20, Self.largeSize] where size > 0 || route.kind.storesNothing {
                    let target = try bench.target(route, .init(partSize: partSize, parallelParts: 3))
                    let response = try await bench.expectArrival(of: randomBytes(size), as: body, at: target)
                    guard size == Self.largeSize else { continue }
                    // Each part has a URL of its own: three uploads that are joined, or seven times 5 MiB.
                    let places = Set(response.metrics.transactions.filter { $0.bytesSent > 1000 }.map(\.url))
                    #expect(places.count == (route.kind.isS3 ? 7 : 3))
                }
            }
        }
    }
}
