import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

extension OverTheWire {
    /// Cancelling and shutting down: promises 5 and 11, cases C09 to C11, C17.
    @Suite struct Cancellation {
        @Test("C10: in a task that is cancelled already nothing is sent", arguments: BodyKind.allCases)
        func cancelledBefore(kind: BodyKind) async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.sink)
            let work = Task {
                await waitUntilCancelled()
                #expect(Task.isCancelled)
                let seen = try await lane.upload(bytes(10), as: kind, to: "/x")
                #expect(seen.isCancelled)
                await #expect(throws: CancellationError.self) {
                    try await lane.uploader.response(for: lane.request("/x"), from: bytes(10))
                }
            }
            work.cancel()
            try await work.value
            await lane.uploader.shutDown()
            #expect(lane.server.connectionCount == 0)
        }

        @Test(
            "Cancelling in the moment in which an answer comes ends the upload only",
            arguments: [Carrier.automatic, .streamed]
        )
        func cancelledByAnswer(carrier: Carrier) async throws {
            let transcript = try Transcript()
            // URLSession ends the process when it gets an answer to a question that it no longer asks.
            await #expect(processExitsWith: .success) { [carrier, path = transcript.path as String] in
                await Transcript.record(path) { try await checkAnswersAreCancelled(carrier) }
            }
            try transcript.check()
        }

        @Test("C10: cancelled in the same tick, before there is a connection")
        func cancelledAtOnce() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.neverAnswer)
            for _ in 0..<50 {
                let task = lane.uploader.task(for: lane.request("/x"), from: bytes(10))
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.response }
            }
            await lane.uploader.shutDown()
            try await lane.server.wait { $0.openConnectionCount == 0 }
        }

        @Test("C11: leaving the loop stops the upload", arguments: BodyKind.endingEarlyByCarrier)
        func leavingTheLoop(carrier: Carrier, kind: BodyKind) async throws {
            let lane = try Lane(carrier)
            lane.server.route(nil, "/*", LoopbackServer.accept(bytesPerSecond: 5_000_000))
            let body = try kind.body(bytes(50_000_000), in: lane.scratch)
            for try await event in lane.uploader.upload(for: lane.request("/x"), from: body) {
                // There is nothing between the beginning and the end of what has no length.
                if !kind.hasLength {
                    try await lane.server.wait { $0.requests.count == 1 }
                    break
                }
                guard case .progress(let fraction) = event, fraction == 0 else { break }
            }
            let state = try await lane.server.wait { $0.requests.first?.ended == true && $0.openConnectionCount == 0 }
            #expect(state.requests.first?.isComplete == false)
        }

        @Test("C11: dropping the stream unread stops the upload", arguments: BodyKind.endingEarly)
        func droppingTheStream(kind: BodyKind) async throws {
            let lane = try Lane()
            let valve = Valve()
            lane.server.route(nil, "/*", valve.handler)
            var events: AsyncThrowingStream<UploadEvent, any Error>? = lane.uploader.upload(
                for: lane.request("/x"),
                from: try kind.body(bytes(50_000_000), in: lane.scratch)
            )
            try await lane.server.wait { $0.requests.count == 1 }
            _ = events.take()
            try await valve.checkUploadWasAbandoned(lane)
        }

        @Test(
            "Cancelling the surrounding task stops the upload; the loop throws",
            arguments: BodyKind.endingEarlyByCarrier
        )
        func cancellingTheTask(carrier: Carrier, kind: BodyKind) async throws {
            let lane = try Lane(carrier)
            let valve = Valve()
            lane.server.route(nil, "/*", valve.handler)
            let work = Task { try await lane.upload(bytes(50_000_000), as: kind, to: "/x") }
            try await lane.server.wait { $0.requests.count == 1 }
            work.cancel()
            #expect(try await work.value.isCancelled)
            try await valve.checkUploadWasAbandoned(lane)
            try await lane.uploader.checkIsIdle()
        }

        @Test("Cancelling a handle ends all its readers")
        func cancellingTheHandle() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.neverAnswer)
            let task = lane.uploader.task(for: lane.request("/x"), from: bytes(1000))
            async let first = Observation(task.events)
            async let second = Observation(task.events)
            try await lane.server.wait { $0.requests.first?.isComplete == true }
            task.cancel()
            #expect(await first.isCancelled)
            #expect(await second.isCancelled)
            #expect(await Observation(task.events).isCancelled)
            try await lane.server.wait { $0.openConnectionCount == 0 }
        }

        @Test("Leaving the events of a handle leaves the upload alone")
        func leavingAHandle() async throws {
            let lane = try Lane()
            let left = Locked(false)
            lane.server.route(nil, "/*") { exchange in
                try exchange.readBody()
                while !left.withLock({ $0 }) { try exchange.wait(.milliseconds(1)) }
                try exchange.respond(200, body: "done")
            }
            let task = lane.uploader.task(for: lane.request("/x"), from: bytes(1000))
            for try await _ in task.events { break }
            let reader = Task {
                await waitUntilCancelled()
                return await Observation(task.events)
            }
            reader.cancel()
            #expect(await reader.value.isCancelled)
            left.withLock { $0 = true }
            #expect(try await task.response.text() == "done")
        }

        @Test("C09: cancelling while connections fail", arguments: 0..<20)
        func cancellingAmidFailures(round: Int) async throws {
            let lane = try Lane { $0.maximumUploadsInFlight = 16 }
            let closed = lane.server.url("/x")
            lane.server.stop()
            let failures = await withTaskGroup(of: (any Error)?.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        let request = URLRequest(url: closed, method: "PUT")
                        do {
                            _ = try await lane.uploader.response(for: request, from: bytes(10))
                            return nil
                        } catch { return error }
                    }
                }
                // Some have failed, some are about to, some wait.
                _ = await group.next()
                group.cancelAll()
                var failures: [any Error] = []
                for await error in group { if let error { failures.append(error) } }
                return failures
            }
            #expect(failures.count == 99)
            #expect(failures.allSatisfy { $0 is CancellationError || ($0 as? UploadError)?.code == .cannotConnect })
            try await lane.uploader.checkIsIdle()
        }

        @Test("C17: an uploader that is shut down refuses new work")
        func shutDown() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.sink)
            _ = try await lane.uploader.response(for: lane.request("/x"), from: bytes(10))
            await lane.uploader.shutDown()
            try await lane.server.wait { $0.openConnectionCount == 0 }
            #expect(try await lane.upload(bytes(10), as: .data, to: "/x").code == .shutDown)
            await lane.uploader.shutDown(.cancelling)
            #expect(lane.server.requests.count == 1)
        }

        @Test("Shutting down lets running and waiting uploads finish")
        func shutDownFinishing() async throws {
            let lane = try Lane { $0.maximumUploadsInFlight = 2 }
            lane.server.route(nil, "/*", LoopbackServer.accept(bytesPerSecond: 10_000_000))
            let tasks = (0..<6).map { _ in lane.uploader.task(for: lane.request("/x"), from: bytes(1_000_000)) }
            await lane.uploader.shutDown()
            for task in tasks { #expect(try await task.response.statusCode == 200) }
            #expect(lane.server.requests.count == 6)
        }

        @Test("Shutting down can cancel them")
        func shutDownCancelling() async throws {
            let lane = try Lane { $0.maximumUploadsInFlight = 2 }
            lane.server.route(nil, "/*", LoopbackServer.neverAnswer)
            let tasks = (0..<6).map { _ in lane.uploader.task(for: lane.request("/x"), from: bytes(1000)) }
            try await lane.server.wait { $0.requests.count == 2 }
            await lane.uploader.shutDown(.cancelling)
            for task in tasks {
                await #expect(throws: CancellationError.self) { try await task.response }
            }
            try await lane.server.wait { $0.openConnectionCount == 0 }
            #expect(lane.server.requests.count == 2)
        }

        @Test("Dropping the uploader does not disturb its uploads")
        func droppingTheUploader() async throws {
            let server = try LoopbackServer()
            server.route(nil, "/*", LoopbackServer.accept(bytesPerSecond: 10_000_000))
            let request = URLRequest(url: server.url("/x"), method: "PUT")
            let tasks = (0..<20).map { _ in Uploader().task(for: request, from: bytes(500_000)) }
            for task in tasks { #expect(try await task.response.statusCode == 200) }
            try await server.wait { $0.openConnectionCount == 0 }
        }
    }
}

/// Returns once the current task is cancelled.
private func waitUntilCancelled() async {
    let (stream, continuation) = AsyncStream<Never>.makeStream()
    await withTaskCancellationHandler {
        for await _ in stream {}
    } onCancel: {
        continuation.finish()
    }
}

/// Has the server cancel each upload as soon as it has answered.
private func checkAnswersAreCancelled(_ carrier: Carrier) async throws {
    let lane = try Lane(carrier) { $0.maximumUploadsInFlight = 8 }
    let tasks = Locked<[String: UploadTask]>([:])
    lane.server.route(nil, "/*") { exchange in
        try exchange.readBody()
        let status = [200, 307, 401][exchange.request.index % 3]
        try exchange.respond(
            status,
            headers: [("Location", "/elsewhere"), ("WWW-Authenticate", "Basic realm=\"r\"")],
            body: "answer"
        )
        tasks.withLock { $0[exchange.request.path] }?.cancel()
    }
    _ = try await inParallel(Array(0..<(ProcessResources.isSanitized ? 300 : 2000)), limit: 8) { number in
        let request = lane.request("/\(number)")
        let task = tasks.withLock { tasks in
            let task = lane.uploader.task(for: request, from: bytes(10))
            tasks[request.url?.path ?? ""] = task
            return task
        }
        _ = try? await task.response
        await task.waitUntilReleased()
    }
    try await lane.uploader.checkIsIdle()
}

/// A server that stops reading in the middle of a body until it is told to go on.
private struct Valve {
    private let opened = DispatchSemaphore(value: 0)

    var handler: LoopbackServer.Handler {
        { [opened] exchange in
            _ = try exchange.readBody(upTo: 1)
            opened.wait()
            try exchange.readBody()
            try exchange.respond(200)
        }
    }

    /// Lets the server read on: what is still in the sockets' buffers, and then the end of the connection.
    func checkUploadWasAbandoned(_ lane: Lane, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await lane.uploader.checkIsIdle(sourceLocation: sourceLocation)
        opened.signal()
        let state = try await lane.server.wait { $0.openConnectionCount == 0 }
        #expect(state.requests.count == 1, sourceLocation: sourceLocation)
        #expect(state.requests.first?.isComplete == false, sourceLocation: sourceLocation)
    }
}

extension Uploader {
    /// Checks that no upload holds a place any more.
    func checkIsIdle(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await eventually("uploads are left", sourceLocation: sourceLocation) { inFlight == 0 }
    }
}
