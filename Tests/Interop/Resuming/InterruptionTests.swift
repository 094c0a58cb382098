import AsyncUpload
import Foundation
import Synchronization
import Testing

extension Resuming {
    /// Uploads that are interrupted go on, and what the server has in the end is what was sent.
    @Suite struct Interruptions {
        let bench: Bench

        init() async throws {
            bench = try await Bench()
        }

        private static let size = 16_000_001

        /// Far enough into a connection that something has been stored, also of S3, where a part counts as a whole or not at all.
        private static let offset = 7_000_001

        /// How much of a stream without a length goes out at a time.
        private static let partOfStream = 8 << 20

        /// By all requests.
        private static func bytesSent(_ response: UploadResponse) -> Int64 {
            response.metrics.transactions.reduce(0) { $0 + $1.bytesSent }
        }

        @Test("The connection is reset again and again", arguments: Route.installed, Body.allCases)
        func reset(route: Route, body: Body) async throws {
            // Some want to know the length with the first part.
            let isTooLong = !route.kind.defersLength && body == .streamOfUnknownLength
            let bytes = try randomBytes(isTooLong ? Self.partOfStream : Self.size)
            // nginx may lose all of a first part, and the emulator of Google's then says that it has one byte, which it does not
            // have: real sessions say nothing of the kind.
            let sizes = route == .gcsEmulatorWithTLS ? [route.kind.partSize] : [nil, route.kind.partSize]
            for partSize in sizes where partSize == nil || !isTooLong {
                let plan = [2_000_001, 1_500_001, 3_000_001].map { Relay.Interference.reset(after: $0) }
                let (target, relay) = try bench.target(route, plan, .init(partSize: partSize))
                let response = try await bench.expectArrival(of: bytes, as: body, at: target)
                #expect(relay.interferenceCount == plan.count)
                #expect(response.metrics.attempts > plan.count)
            }
        }

        // Not tuspyserver, which stands still for 30 s when it is sent to while it still has the connection before.
        @Test(
            "Connections of three parts at the same time are reset",
            arguments: Route.installed.filter { $0.kind != .tuspyserver && $0.kind != .gcsEmulator }
        )
        func parallelReset(route: Route) async throws {
            let plan = [2_000_001, 3_500_001, 1_000_001].map { Relay.Interference.reset(after: $0) }
            let partSize = route.kind.isS3 ? route.kind.partSize : nil
            let (target, relay) = try bench.target(route, plan, .init(partSize: partSize, parallelParts: 3))
            try await bench.expectArrival(of: randomBytes(Self.size), as: .file, at: target)
            #expect(relay.interferenceCount == plan.count)
        }

        @Test("It is paused and goes on", arguments: Route.installed, [Body.data, .file, .streamOfKnownLength])
        func pause(route: Route, body: Body) async throws {
            let bytes = try randomBytes(Self.size)
            let options = ResumableTarget.Options(partSize: route.kind.partSize)
            let (target, relay) = try bench.target(route, [.stall(after: Self.offset)], options)
            let task = bench.uploader.task(
                for: target.request,
                from: try body.of(bytes, in: bench.folder),
                resuming: target.resuming
            )
            try await eventually("it does not come so far", within: .seconds(30)) { relay.interferenceCount == 1 }
            task.pause()
            try await eventually("it does not pause") { task.currentProgress.isPaused }
            task.resume()
            let response = try await task.response
            #expect(try await target.stored(response) == bytes)
        }

        @Test("It is cancelled and started again", arguments: Route.installed, [Body.data, .file])
        func cancel(route: Route, body: Body) async throws {
            let bytes = try randomBytes(Self.size)
            let content = try body.of(bytes, in: bench.folder)
            let options = ResumableTarget.Options(partSize: route.kind.partSize, identifier: "it")
            let (target, relay) = try bench.target(route, [.stall(after: Self.offset)], options)
            let folder = bench.folder.file("checkpoints")
            let first = try await Bench.uploader { $0.checkpointStore = DirectoryCheckpointStore(folder) }
            let task = first.task(for: target.request, from: content, resuming: target.resuming)
            try await eventually("it does not come so far", within: .seconds(30)) { relay.interferenceCount == 1 }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.response }
            await first.shutDown(.cancelling)

            // As another process would.
            let resumptions = Atomic(0)
            let second = try await Bench.uploader {
                $0.checkpointStore = DirectoryCheckpointStore(folder)
                $0.onActivity = { activity in
                    if case .resumption = activity.event { resumptions.add(1, ordering: .relaxed) }
                }
            }
            let response = try await second.response(for: target.request, from: content, resuming: target.resuming)
            #expect(try await target.stored(response) == bytes)
            #expect(resumptions.load(ordering: .relaxed) == 1)
            // What was stored before is not sent again.
            #expect(Self.bytesSent(response) < Self.size)
        }

        // Google's emulator and moto keep everything in memory. tuspyserver appends to its file what comes, and notes only at a
        // part's end, or when the client is gone, how much that was: killed in between, it has more than it says, and what is
        // sent again comes behind that. The upload succeeds, and nothing that the server says shows it.
        @Test(
            "The server crashes in the midst of a part and is started again",
            arguments: [.resumableUpload, .seaweedTus].filter(ResumableServer.Kind.installed.contains)
        )
        func crash(kind: ResumableServer.Kind) async throws {
            let crashing = try await CrashBench(kind, bench)
            await crashing.server.crash()
            try await crashing.expectArrival()
        }

        @Test(
            "The server crashes while an upload is paused and is started again",
            arguments: ResumableServer.Kind.installed.filter(\.isTus)
        )
        func crashInPause(kind: ResumableServer.Kind) async throws {
            let crashing = try await CrashBench(kind, bench)
            crashing.task.pause()
            try await eventually("it does not pause") { crashing.task.currentProgress.isPaused }
            try await eventually("the server keeps the connection") { crashing.relay.settledCount == 1 }
            // Who is answered now was behind the end of that connection.
            _ = try Loopback.get("/", port: crashing.server.port)
            await crashing.server.crash()
            try await crashing.expectArrival { $0.resume() }
        }

        /// An upload that has come to the midst of a part, to a server of its own.
        private struct CrashBench {
            let server: ResumableServer
            let relay: Relay
            let task: UploadTask
            private let target: ResumableTarget
            private let bytes: Data

            init(_ kind: ResumableServer.Kind, _ bench: Bench) async throws {
                server = try await ResumableServer(kind)
                let relay = try Relay(to: server.port, [.stall(after: Interruptions.offset)], waitsForServer: true)
                self.relay = relay
                target = try ResumableTarget(at: server, port: relay.port, .init(partSize: kind.partSize))
                bytes = try randomBytes(Interruptions.size)
                let file = try bench.folder.write(UUID().uuidString, bytes)
                task = bench.uploader.task(for: target.request, fromFile: file, resuming: target.resuming)
                try await eventually("it does not come so far", within: .seconds(30)) { relay.interferenceCount == 1 }
            }

            /// Starts the server again, and checks that no more than a part is sent for a second time.
            func expectArrival(_ start: (UploadTask) -> Void = { _ in }) async throws {
                let again = try await ResumableServer(again: server)
                start(task)
                let response = try await task.response
                #expect(try await target.stored(response) == bytes)
                #expect(Interruptions.bytesSent(response) <= Int64(Interruptions.size) + server.kind.partSize)
                await again.end()
            }
        }
    }
}
