import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

extension OverTheWire {
    @Suite("Bodies that are sent as they are made") struct Streams {
        private struct Broken: Error {}

        @Test("C03: what has no length has no progress until its end, and then all of it")
        func progress() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.sink)
            let seen = try await lane.upload(bytes(1_000_000), as: .stream, to: "/x")
            // A reader that is slow misses the first.
            #expect([[0, 1], [1]].contains(seen.fractions))
            #expect(seen.response == .some(nil))
            let task = lane.uploader.task(for: lane.request("/x"), from: .stream(pieces(of: bytes(1_000_000))))
            let response = try await task.response
            #expect(response.metrics.bytesSent == 1_000_000)
            #expect(task.currentProgress.bytesSent == 1_000_000)
            #expect(task.currentProgress.totalBytes == nil)
        }

        @Test("C54: a pause is not the end", arguments: [nil, 10_000] as [Int64?])
        func pause(length: Int64?) async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.accept(keeping: true))
            let data = bytes(10_000)
            let source = Pieces { number in
                if number == 1 { try await Task.sleep(for: .milliseconds(300)) }
                return number < 2 ? data[(number * 5000)..<((number + 1) * 5000)] : nil
            }
            let body = UploadBody.stream(source, length: length)
            #expect(await Observation(lane.uploader.upload(for: lane.request("/x"), from: body)).response != nil)
            #expect(lane.server.requests.first?.body == data)
        }

        @Test("C60: pieces and bytes of every size arrive", arguments: [0, 1, 4000, 6000, 16_384, 65_536, 10_000_000])
        func sizes(count: Int) async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.accept(digesting: true))
            let data = bytes(count)
            let kinds: [UploadBody] = [
                .stream(pieces(of: data, size: 1 << 20)), .stream(pieces(of: data, size: 999), length: Int64(count)),
                .stream { pieces(of: data, size: 5) }, .stream(AsyncBytes(data: data)),
                .stream(length: Int64(count)) { AsyncBytes(data: data) },
            ]
            for (number, body) in kinds.enumerated() where number != 2 || count <= 65_536 {
                let seen = await Observation(lane.uploader.upload(for: lane.request("/x"), from: body))
                #expect(seen.response != nil, "body \(number)")
                #expect(lane.server.requests.last?.digest == BodyDigest.of(data), "body \(number)")
            }
        }

        @Test("C55: a producer that takes its time holds up nobody else")
        func slowProducer() async throws {
            let lane = try Lane { $0.maximumUploadsInFlight = 12 }
            lane.server.route(nil, "/*", LoopbackServer.sink)
            let go = Gate()
            let slow = lane.uploader.task(
                for: lane.request("/slow"),
                from: .stream(
                    Pieces { number in
                        if number == 1 { await go.wait() }
                        return number < 2 ? bytes(1000) : nil
                    }
                )
            )
            if Carrier.underTest == .automatic { try await lane.server.wait { $0.requests.count == 1 } }
            for _ in 0..<10 {
                _ = try await lane.uploader.response(for: lane.request("/fast"), from: bytes(1000))
            }
            #expect(!lane.server.requests.contains { $0.path == "/slow" && $0.isComplete })
            go.open()
            _ = try await slow.response
            #expect(lane.server.requests.first { $0.path == "/slow" }?.bodyByteCount == 2000)
        }

        @Test("C56: an error of the producer is the upload's, and the server sees no end", arguments: [nil, 1_000_000])
        func producerError(length: Int64?) async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.sink)
            let body = UploadBody.stream(length: length) {
                Pieces { number in
                    guard number < 5 else { throw Broken() }
                    return bytes(10_000)
                }
            }
            let seen = await Observation(lane.uploader.upload(for: lane.request("/x"), from: body))
            #expect(seen.code == .bodyUnreadable)
            #expect((seen.error as? UploadError)?.underlying is Broken)
            let state = try await lane.server.wait { $0.openConnectionCount == 0 && $0.requests.allSatisfy(\.ended) }
            #expect(state.requests.allSatisfy { !$0.isComplete })
        }

        @Test("What making the sequence throws is treated alike")
        func makerError() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.sink)
            let body = UploadBody.stream { () async throws -> Pieces in throw Broken() }
            let seen = await Observation(lane.uploader.upload(for: lane.request("/x"), from: body))
            #expect(seen.code == .bodyUnreadable)
            #expect(seen.error.map { ($0 as? UploadError)?.underlying is Broken } == true)
        }

        @Test(
            "C58: a length is kept, or the upload fails and the server has no complete request",
            arguments: [(5, 10), (10, 5), (0, 5), (5, 0), (100_000, 99_999), (100_000, 100_001), (300_000, 2_000_000)]
        )
        func lengthMismatch(said: Int, made: Int) async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.sink)
            for size in [1 << 20, 7000] {
                let body = UploadBody.stream(pieces(of: bytes(made), size: size), length: Int64(said))
                let seen = await Observation(lane.uploader.upload(for: lane.request("/x"), from: body))
                #expect(seen.code == .bodyLengthMismatch)
            }
            let state = try await lane.server.wait { $0.openConnectionCount == 0 && $0.requests.allSatisfy(\.ended) }
            #expect(state.requests.allSatisfy { !$0.isComplete && $0.rawBodyByteCount < said })
        }

        @Test("A length below zero, or one that only a header field says, is refused")
        func invalidLength() async throws {
            let lane = try Lane()
            let negative = UploadBody.stream(pieces(of: bytes(5)), length: -1)
            #expect(
                await Observation(lane.uploader.upload(for: lane.request("/x"), from: negative)).code
                    == .bodyLengthMismatch
            )
            var request = lane.request("/x")
            request.setValue("5", forHTTPHeaderField: "Content-Length")
            let unknown = UploadBody.stream(pieces(of: bytes(5)))
            #expect(await Observation(lane.uploader.upload(for: request, from: unknown)).code == .invalidRequest)
            #expect(lane.server.connectionCount == 0)
        }

        @Test("C59: a server without chunked coding gets the length if there is one")
        func lengthRequired() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*") { exchange in
                let hasLength = exchange.request.header("Content-Length") != nil
                try exchange.readBody(digesting: true)
                try exchange.respond(hasLength ? 200 : 411)
            }
            #expect(try await lane.upload(bytes(100_000), as: .sizedStream, to: "/x").response != nil)
            let seen = try await lane.upload(bytes(100_000), as: .stream, to: "/x")
            #expect(seen.refusedStatus == (BodyKind.stream.isSentWithLength ? nil : 411))
        }

        @Test("C21: the producer does not run ahead of the server", .enabled(if: Carrier.underTest == .automatic))
        func backpressure() async throws {
            let lane = try Lane(receiveBufferSize: 64 << 10)
            let (made, stalled) = (Locked(0), Gate())
            lane.server.route(nil, "/*") { exchange in
                for _ in 0..<20 {
                    _ = try exchange.readBody(upTo: 100_000, bytesPerSecond: 10_000_000)
                    let ahead = Int64(made.withLock { $0 }) - exchange.request.bodyByteCount
                    #expect(ahead <= 8 << 20)
                }
                stalled.open()
                exchange.hold()
            }
            let task = lane.uploader.task(
                for: lane.request("/x"),
                from: .stream(
                    Pieces { _ in
                        made.withLock { $0 += 32 << 10 }
                        return bytes(32 << 10)
                    }
                )
            )
            await stalled.wait()
            // Once the system's own buffers are full, nothing moves any more.
            var last = 0
            try await eventually("the producer goes on and on") {
                usleep(100_000)
                defer { last = made.withLock { $0 } }
                return last > 0 && last == made.withLock { $0 }
            }
            let received = try #require(lane.server.requests.first).bodyByteCount
            #expect(Int64(last) - received <= 8 << 20)
            task.cancel()
        }

        @Test("C37: an answer that comes while the producer is silent is not missed", arguments: [true, false])
        func earlyAnswer(closes: Bool) async throws {
            let lane = try Lane()
            let (asked, cancelled) = (Gate(), Gate())
            lane.server.route(nil, "/*") { exchange in
                _ = try exchange.readBody(upTo: 1000)
                let headers = closes ? [("Connection", "close")] : []
                try exchange.respond(403, headers: headers, body: "no")
                if closes { exchange.close(draining: true) } else { exchange.hold() }
            }
            let body = UploadBody.stream(
                Pieces { number in
                    guard number > 0 else { return bytes(1000) }
                    asked.open()
                    await withTaskCancellationHandler {
                        await cancelled.wait()
                    } onCancel: {
                        cancelled.open()
                    }
                    return nil
                }
            )
            if Carrier.underTest != .automatic {
                // Nothing is sent before the end has been made.
                asked.open()
                cancelled.open()
            }
            let seen = await Observation(lane.uploader.upload(for: lane.request("/x"), from: body))
            #expect(seen.refusedStatus == 403)
            #expect((seen.error as? UploadError)?.response?.text() == "no")
            await cancelled.wait()
        }

        @Test(
            "A server that closes the connection while the producer is silent is noticed",
            .enabled(if: Carrier.underTest == .automatic)
        )
        func closedWhileSilent() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*") { exchange in
                _ = try exchange.readBody(upTo: 1000)
                exchange.close()
            }
            let released = Gate()
            let body = UploadBody.stream(
                Pieces { number in
                    guard number > 0 else { return bytes(1000) }
                    await withTaskCancellationHandler {
                        await released.wait()
                    } onCancel: {
                        released.open()
                    }
                    return nil
                }
            )
            let seen = await Observation(lane.uploader.upload(for: lane.request("/x"), from: body))
            #expect(seen.code == .connectionLostDuringBody)
            await released.wait()
        }

        @Test("C12: cancelling waits for no producer, and cancels it", arguments: [true, false])
        func cancellation(cooperates: Bool) async throws {
            let lane = try Lane { $0.maximumUploadsInFlight = 1 }
            lane.server.route(nil, "/*", LoopbackServer.sink)
            let (blocked, cancelled, release) = (Gate(), Gate(), Gate())
            let body = UploadBody.stream(
                Pieces { number in
                    guard number > 0 else { return bytes(1000) }
                    blocked.open()
                    await withTaskCancellationHandler {
                        await release.wait()
                    } onCancel: {
                        cancelled.open()
                        if cooperates { release.open() }
                    }
                    return nil
                }
            )
            let task = lane.uploader.task(for: lane.request("/x"), from: body)
            await blocked.wait()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.response }
            await cancelled.wait()
            await task.waitUntilReleased()
            // Its place is free, whatever the producer does.
            _ = try await lane.uploader.response(for: lane.request("/y"), from: bytes(10))
            try await lane.server.wait { !$0.requests.contains { $0.path == "/x" && !$0.ended } }
            #expect(!lane.server.requests.contains { $0.path == "/x" && $0.isComplete })
            release.open()
        }

        @Test(
            "C26: what has to be sent again is made anew, or the upload fails for that reason",
            arguments: ["redirect", "challenge"],
            [true, false]
        )
        func again(cause: String, isReplayable: Bool) async throws {
            let lane = try Lane { $0.credential = URLCredential(user: "u", password: "p", persistence: .none) }
            lane.server.route(nil, "/redirect", LoopbackServer.redirect(status: 307, to: "/ok"))
            lane.server.route(nil, "/challenge") { exchange in
                try exchange.readBody(digesting: true)
                let isKnown = exchange.request.header("Authorization") != nil
                try exchange.respond(isKnown ? 200 : 401, headers: [("WWW-Authenticate", "Basic realm=\"r\"")])
            }
            lane.server.route(nil, "/ok", LoopbackServer.accept(digesting: true))
            let data = bytes(100_000)
            let body: UploadBody = isReplayable ? .stream { pieces(of: data) } : .stream(pieces(of: data))
            let seen = await Observation(lane.uploader.upload(for: lane.request("/\(cause)"), from: body))
            // What has gone through a temporary file can be sent any number of times.
            if isReplayable || Carrier.underTest != .automatic {
                #expect(seen.response != nil)
                #expect(lane.server.requests.last?.digest == BodyDigest.of(data))
            } else {
                #expect(seen.code == .bodyNotReplayable)
                #expect(lane.server.requests.count == 1)
            }
        }

        @Test("A sequence that can be read once is sent once, by whichever upload comes first")
        func onlyOnce() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.sink)
            let body = UploadBody.stream(pieces(of: bytes(1000)))
            _ = try await lane.uploader.response(for: lane.request("/x"), from: body)
            let seen = await Observation(lane.uploader.upload(for: lane.request("/x"), from: body))
            #expect(seen.code == .bodyNotReplayable)
            #expect(lane.server.requests.count == 1)
        }

        @Test("A sequence is still whole when there was no connection")
        func noConnection() async throws {
            let body = UploadBody.stream(pieces(of: bytes(1000)))
            guard Carrier.underTest == .automatic else { return }
            let (dead, lane) = (try Lane(), try Lane())
            dead.server.stop()
            #expect(await Observation(dead.uploader.upload(for: dead.request("/x"), from: body)).code == .cannotConnect)
            lane.server.route(nil, "/*", LoopbackServer.sink)
            #expect(await Observation(lane.uploader.upload(for: lane.request("/x"), from: body)).response != nil)
        }

        @Test(
            "C61: a connection that is closed just as it is used again costs nothing",
            .enabled(if: Carrier.underTest != .native, "see KnownIssue.nativeFileEndsEarly"),
            arguments: BodyKind.allCases
        )
        func staleConnection(kind: BodyKind) async throws {
            let lane = try Lane { $0.maximumUploadsInFlight = 1 }
            lane.server.route(nil, "/first", LoopbackServer.sink)
            lane.server.route(nil, "/second") { exchange in
                guard exchange.request.connection > 0 else { return exchange.close() }
                try exchange.readBody(digesting: true)
                try exchange.respond(200)
            }
            _ = try await lane.uploader.response(for: lane.request("/first"), from: bytes(10))
            let seen = try await lane.upload(bytes(500_000), as: kind, to: "/second")
            #expect(seen.response != nil || seen.code?.isConnectionLoss == true)
            if seen.response != nil { #expect(lane.server.requests.last?.digest == BodyDigest.of(bytes(500_000))) }
            if Carrier.underTest == .automatic { #expect(seen.response != nil) }
        }

        @Test("C61: what can be sent only once never goes out on a connection that may be closed")
        func staleConnectionOnce() async throws {
            let lane = try Lane { $0.maximumUploadsInFlight = 1 }
            lane.server.route(nil, "/*", LoopbackServer.sink)
            _ = try await lane.uploader.response(for: lane.request("/first"), from: bytes(10))
            let body = UploadBody.stream(pieces(of: bytes(1000)))
            _ = try await lane.uploader.response(for: lane.request("/second"), from: body)
            if Carrier.underTest == .automatic { #expect(lane.server.requests.map(\.connection) == [0, 1]) }
        }

        @Test(
            "C23: the sequence and what it holds are released with the upload",
            .enabled(if: Carrier.underTest != .native, "see KnownIssue.nativeFileEndsEarly")
        )
        func released() async throws {
            final class Witness: Sendable {}
            let lane = try Lane()
            lane.server.route(nil, "/ok", LoopbackServer.sink)
            lane.server.route(nil, "/refused", LoopbackServer.failing(after: 100))
            weak var last: Witness?
            for round in 0..<200 {
                do {
                    let witness = Witness()
                    last = witness
                    let body = UploadBody.stream(
                        Pieces { [witness] number in
                            withExtendedLifetime(witness) { number < 3 ? bytes(1000) : nil }
                        }
                    )
                    let request = lane.request(round % 2 == 0 ? "/ok" : "/refused")
                    _ = try? await lane.uploader.response(for: request, from: body)
                }
                try await eventually("round \(round)") { last == nil }
            }
        }
    }
}

/// Single bytes, one by one.
private struct AsyncBytes: AsyncSequence, Sendable {
    let data: Data

    struct AsyncIterator: AsyncIteratorProtocol {
        var rest: Data.Iterator

        mutating func next() async -> UInt8? { rest.next() }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: data.makeIterator()) }
}
