import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

extension OverTheWire {
    /// Pausing, cancelling, and going on in another task or process.
    @Suite(
        "Pauses, cancellation and checkpoints",
        .enabled(if: Carrier.underTest != .native, "see KnownIssue.nativeFileEndsEarly")
    ) struct Continuation {
        private let data = bytes(3_000_000)

        /// A server that stops in the middle of the first part, until it is told to go on.
        private func stoppingLane(
            checkpoints: any CheckpointStore = MemoryCheckpointStore(),
            at offset: Int64 = 1_000_000
        ) throws -> ResumableLane {
            try ResumableLane.tus(checkpoints: checkpoints) { request in
                request.method == "PATCH" && request.numberOfMethod == 1 ? .stallAfter(offset) : nil
            }
        }

        private func storedBytes(_ lane: ResumableLane) -> Int64 { lane.store.uploads.first?.offset ?? 0 }

        /// Begins an upload, and returns when the server has stopped.
        private func taskInTheMiddle(
            _ lane: ResumableLane,
            _ request: URLRequest,
            _ body: UploadBody,
            _ resuming: ResumableProtocol
        ) async throws -> UploadTask {
            let task = lane.uploader.task(for: request, from: body, resuming: resuming)
            try await eventually { storedBytes(lane) == 1_000_000 }
            return task
        }

        /// Begins an upload, and cancels it when the server has stopped.
        private func cancelInTheMiddle(
            _ lane: ResumableLane,
            _ request: URLRequest,
            _ body: UploadBody,
            _ resuming: ResumableProtocol
        ) async throws {
            let task = try await taskInTheMiddle(lane, request, body, resuming)
            task.cancel()
            await task.waitUntilReleased()
        }

        @Test("C14: a pause stops everything, and the upload goes on where the server is", arguments: BodyKind.allCases)
        func pause(kind: BodyKind) async throws {
            let lane = try stoppingLane()
            let body = try kind.body(data, in: lane.scratch)
            let task = try await taskInTheMiddle(lane, lane.tusRequest, body, .tus())
            task.pause()
            try await eventually { task.currentProgress.isPaused }
            try await lane.server.wait { $0.openConnectionCount == 0 }
            #expect(lane.exchanges == ["POST 201", "PATCH -"])
            task.resume()
            _ = try await task.response
            #expect(lane.exchanges == ["POST 201", "PATCH -", "HEAD 200", "PATCH 204"])
            lane.expectStored(data)
            #expect(!task.currentProgress.isPaused)
        }

        @Test("An upload that is paused holds no place, and has no effect on others")
        func pausedHoldsNothing() async throws {
            let lane = try ResumableLane.tus { request in
                request.method == "PATCH" && request.numberOfMethod == 1 ? .stallAfter(1_000_000) : nil
            } configure: {
                $0.maximumUploadsInFlight = 1
            }
            let file = try lane.scratch.file(data)
            let task = try await taskInTheMiddle(lane, lane.tusRequest, .file(file), .tus())
            task.pause()
            task.pause()
            try await eventually { task.currentProgress.isPaused }
            _ = try await lane.uploader.response(for: lane.tusRequest, from: bytes(10), resuming: .tus())
            task.resume()
            task.resume()
            _ = try await task.response
            #expect(lane.store.uploads.allSatisfy { $0.isComplete })
        }

        @Test("A pause before the first request and after the end")
        func oddPauses() async throws {
            let lane = try ResumableLane.tus()
            let task = lane.uploader.task(for: lane.tusRequest, from: data, resuming: .tus())
            task.pause()
            task.resume()
            _ = try await task.response
            task.pause()
            lane.expectStored(data)
            let plain = lane.uploader.task(for: lane.tusRequest, from: data)
            #expect(!plain.isResumable)
            plain.pause()
            _ = await Observation(plain.events)
        }

        @Test("A paused upload can be cancelled")
        func cancelPaused() async throws {
            let lane = try stoppingLane()
            let file = try lane.scratch.file(data)
            let task = try await taskInTheMiddle(lane, lane.tusRequest, .file(file), .tus())
            task.pause()
            try await eventually { task.currentProgress.isPaused }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.response }
            await task.waitUntilReleased()
            #expect(lane.uploader.inFlight == 0)
        }

        @Test("A cancelled upload of a file goes on when it is started again, in the same process and in another")
        func cancelled() async throws {
            for isOther in [false, true] {
                let folder = try ScratchFolder()
                let checkpoints = DirectoryCheckpointStore(folder.path("state"))
                let lane = try stoppingLane(checkpoints: checkpoints)
                let file = try lane.scratch.file(data)
                try await cancelInTheMiddle(lane, lane.tusRequest, .file(file), .tus())
                let next =
                    isOther
                    ? Uploader { $0.checkpointStore = DirectoryCheckpointStore(folder.path("state")) } : lane.uploader
                let response = try await next.response(for: lane.tusRequest, fromFile: file, resuming: .tus())
                #expect(lane.exchanges == ["POST 201", "PATCH -", "HEAD 200", "PATCH 204"])
                #expect(response.metrics.bytesSent == 2_000_000)
                lane.expectStored(data)
                // Once it is through, the next one is an upload of its own.
                _ = try await next.response(for: lane.tusRequest, fromFile: file, resuming: .tus())
                #expect(lane.exchanges.count { $0 == "POST 201" } == 2)
            }
        }

        @Test("Metrics count what an upload has sent itself, also where it fails")
        func sentBytes() async throws {
            let lane = try ResumableLane.tus { request in
                guard request.method == "PATCH" else { return nil }
                return [1: .stallAfter(1_000_000), 2: .answer(400, afterBody: true)][request.numberOfMethod]
            }
            let file = try lane.scratch.file(data)
            try await cancelInTheMiddle(lane, lane.tusRequest, .file(file), .tus())
            let failed = await Observation(lane.uploader.upload(for: lane.tusRequest, fromFile: file, resuming: .tus()))
            #expect((failed.error as? UploadError)?.metrics.bytesSent == 2_000_000)
            let response = try await lane.uploader.response(for: lane.tusRequest, fromFile: file, resuming: .tus())
            #expect(lane.exchanges.suffix(3) == ["HEAD 200", "PATCH 400", "HEAD 200"])
            #expect(response.metrics.bytesSent == 0)
            lane.expectStored(data)
        }

        @Test("A cancelled upload that nobody could go on with is removed, and so is one whose removal is asked for")
        func removal() async throws {
            for isNamed in [false, true] {
                let lane = try stoppingLane()
                let file = try lane.scratch.file(data)
                let body: UploadBody = isNamed ? .file(file) : .data(data)
                let task = try await taskInTheMiddle(lane, lane.tusRequest, body, .tus())
                if isNamed { task.cancel(removingRemote: true) } else { task.cancel() }
                await task.waitUntilReleased()
                #expect(lane.exchanges == ["POST 201", "PATCH -", "DELETE 204"])
                #expect(lane.hasLogged("was removed at the server"))
            }
        }

        /// The task's own handler is called before the one around it.
        @Test("Whoever awaits the response, and wants a removal when that is cancelled, gets it")
        func removalByWaitingTask() async throws {
            let lane = try stoppingLane()
            let file = try lane.scratch.file(data)
            let task = try await taskInTheMiddle(lane, lane.tusRequest, .file(file), .tus())
            // Nothing is in flight then that would hold up its end.
            task.pause()
            try await eventually { task.currentProgress.isPaused }
            let isWaiting = Locked(false)
            let waiting = Task {
                try await withTaskCancellationHandler {
                    isWaiting.withLock { $0 = true }
                    return try await task.response
                } onCancel: {
                    // Long enough for the upload to end, were it cancelled already.
                    let end = ContinuousClock.now + .milliseconds(200)
                    while lane.uploader.inFlight > 0, ContinuousClock.now < end {}
                    task.cancel(removingRemote: true)
                }
            }
            try await eventually { isWaiting.withLock { $0 } }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            await task.waitUntilReleased()
            #expect(lane.exchanges == ["POST 201", "PATCH -", "DELETE 204"])
        }

        @Test("A removal waits for a lock to go, asked for or not", arguments: [true, false])
        func lockedRemoval(isAskedFor: Bool) async throws {
            let lane = try ResumableLane.tus { request in
                switch request.method {
                case "PATCH": .stallAfter(1_000_000)
                case "DELETE" where request.numberOfMethod <= 2: .locked
                default: nil
                }
            }
            let task = try await taskInTheMiddle(lane, lane.tusRequest, .data(data), .tus())
            task.cancel(removingRemote: isAskedFor)
            await task.waitUntilReleased()
            #expect(lane.exchanges == ["POST 201", "PATCH -", "DELETE 423", "DELETE 423", "DELETE 204"])
        }

        @Test("A file that has changed since is a new upload; its old bytes are never mixed with new ones")
        func changedFile() async throws {
            let lane = try stoppingLane()
            let file = try lane.scratch.file(data)
            try await cancelInTheMiddle(lane, lane.tusRequest, .file(file), .tus())
            let changed = bytes(3_000_000, seed: 2)
            try changed.write(to: file)
            _ = try await lane.uploader.response(for: lane.tusRequest, fromFile: file, resuming: .tus())
            lane.expectStored(changed)
            #expect(lane.hasLogged("begins afresh: the file has changed"))
        }

        @Test("C67: an upload that the server has forgotten meanwhile is begun anew")
        func expired() async throws {
            let lane = try stoppingLane()
            let file = try lane.scratch.file(data)
            try await cancelInTheMiddle(lane, lane.tusRequest, .file(file), .tus())
            lane.store.forget(try #require(lane.store.uploads.first).id)
            _ = try await lane.uploader.response(for: lane.tusRequest, fromFile: file, resuming: .tus())
            lane.expectStored(data)
            #expect(lane.exchanges == ["POST 201", "PATCH -", "HEAD 404", "POST 201", "PATCH 204"])
        }

        @Test("Two uploads on one checkpoint: the second is refused, and the first goes on")
        func inUse() async throws {
            let folder = try ScratchFolder()
            let lane = try stoppingLane(checkpoints: DirectoryCheckpointStore(folder.path("state")))
            let file = try lane.scratch.file(data)
            let task = try await taskInTheMiddle(lane, lane.tusRequest, .file(file), .tus())
            let other = Uploader { $0.checkpointStore = DirectoryCheckpointStore(folder.path("state")) }
            for uploader in [lane.uploader, other] {
                let seen = await Observation(
                    uploader.upload(for: lane.tusRequest, fromFile: file, resuming: .tus())
                )
                #expect(seen.code == .checkpointInUse)
            }
            #expect(lane.server.requests.count == 2)
            task.cancel()
            await task.waitUntilReleased()
            _ = try await other.response(for: lane.tusRequest, fromFile: file, resuming: .tus())
            lane.expectStored(data)
        }

        @Test("C75: a checkpoint that cannot be read is a fresh start")
        func corruptCheckpoint() async throws {
            let folder = try ScratchFolder()
            let state = folder.path("state")
            let lane = try stoppingLane(checkpoints: DirectoryCheckpointStore(state))
            let file = try lane.scratch.file(data)
            try await cancelInTheMiddle(lane, lane.tusRequest, .file(file), .tus())
            let names = try FileManager.default.contentsOfDirectory(atPath: state.path).filter {
                $0.hasSuffix(".checkpoint")
            }
            try #require(names.count == 1)
            try Data("{\"version\":".utf8).write(to: state.appendingPathComponent(names[0]))
            _ = try await lane.uploader.response(for: lane.tusRequest, fromFile: file, resuming: .tus())
            lane.expectStored(data)
            #expect(lane.hasLogged("begins afresh: the checkpoint cannot be read"))
        }

        @Test("A checkpoint holds no credential")
        func noSecrets() async throws {
            let folder = try ScratchFolder()
            let state = folder.path("state")
            let lane = try stoppingLane(checkpoints: DirectoryCheckpointStore(state))
            let file = try lane.scratch.file(data)
            var request = URLRequest(
                url: try #require(URL(string: "http://user:geheim@127.0.0.1:\(lane.server.port)/files?sig=geheim")),
                method: "POST"
            )
            request.setValue("geheim", forHTTPHeaderField: "X-Api-Key")
            try await cancelInTheMiddle(lane, request, .file(file), .tus())
            let names = try FileManager.default.contentsOfDirectory(atPath: state.path)
            #expect(names.contains { $0.hasSuffix(".checkpoint") })
            for name in names {
                #expect(!name.contains("geheim"))
                let text = String(decoding: try Data(contentsOf: state.appendingPathComponent(name)), as: UTF8.self)
                #expect(!text.contains("geheim"))
            }
        }

        @Test("A file that is told of in another way is another upload")
        func otherMetadata() async throws {
            let lane = try stoppingLane()
            let file = try lane.scratch.file(data)
            let task = try await taskInTheMiddle(lane, lane.tusRequest, .file(file), .tus())
            var options = TusOptions()
            options.metadata = ["filename": "other"]
            _ = try await lane.uploader.response(for: lane.tusRequest, fromFile: file, resuming: .tus(options))
            task.cancel()
            await task.waitUntilReleased()
            #expect(lane.store.uploads.map(\.isComplete) == [false, true])
        }

        @Test("A user in the URL is known to all requests")
        func userInTheURL() async throws {
            let lane = try ResumableLane.tus()
            let address = "http://user:pw@127.0.0.1:\(lane.server.port)/files"
            _ = try await lane.uploader.response(
                for: URLRequest(url: try #require(URL(string: address)), method: "POST"),
                from: data,
                resuming: .tus()
            )
            let authorization = "Basic " + Data("user:pw".utf8).base64EncodedString()
            #expect(lane.server.requests.map { $0.header("Authorization") } == [authorization, authorization])
        }

        @Test("What must not be sent twice is not, for a pause either")
        func pausedCreation() async throws {
            let lane = try ResumableLane()
            ResumableDraftServer(store: lane.store, tellsLocation: false) { _ in .stallAfter(1_000) }
                .install(on: lane.server)
            let task = lane.uploader.task(for: lane.draftRequest, from: data, resuming: .ietf())
            try await eventually { storedBytes(lane) == 1_000 }
            task.pause()
            try await eventually { task.currentProgress.isPaused }
            task.resume()
            let seen = await Observation(task.events)
            #expect(seen.code == .connectionLostDuringBody)
            #expect(lane.server.requests.count == 1)
        }

        @Test("Pauses at any moment lose nothing", arguments: 0..<20)
        func pausesAtAnyMoment(round: Int) async throws {
            let lane = try ResumableLane.tus()
            var options = TusOptions()
            options.partSize = 100_000
            options.parallelParts = round % 2 == 0 ? 1 : 3
            let task = lane.uploader.task(for: lane.tusRequest, from: data, resuming: .tus(options))
            for pause in 0..<5 {
                try await lane.server.wait {
                    $0.requests.count > 1 + pause * 3 + round / 4 || $0.requests.isEmpty && pause == 0
                }
                task.pause()
                task.resume()
            }
            _ = try await task.response
            lane.expectStored(data)
        }

        @Test("A named body goes on too, where the name says that it is the same")
        func namedBody() async throws {
            let lane = try stoppingLane()
            var resuming = ResumableProtocol.tus()
            resuming.checkpointIdentifier = "order 17"
            try await cancelInTheMiddle(lane, lane.tusRequest, .data(data), resuming)
            _ = try await lane.uploader.response(for: lane.tusRequest, from: data, resuming: resuming)
            lane.expectStored(data)
            #expect(lane.exchanges.count { $0 == "POST 201" } == 1)
        }
    }
}
