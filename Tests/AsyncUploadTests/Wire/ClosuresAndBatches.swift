import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

extension OverTheWire {
    /// Progress by closure, and completion handlers.
    @Suite struct Closures {
        @Test("The closure is called in order, from 0 to 1, and not after the return")
        func progress() async throws {
            let lane = try Lane(receiveBufferSize: 64 << 10)
            lane.server.route(nil, "/*", LoopbackServer.accept(bytesPerSecond: 20_000_000, body: "done"))
            let file = try lane.scratch.file(bytes(5_000_000))
            let calls = Locked<[UploadProgress]>([])
            for body in [UploadBody.data(bytes(5_000_000)), .file(file)] {
                calls.withLock { $0 = [] }
                let response = try await lane.uploader.upload(for: lane.request("/x"), from: body) { progress in
                    calls.withLock { $0.append(progress) }
                }
                let seen = calls.withLock { $0 }
                #expect(response.text() == "done")
                #expect(seen.first?.fraction == 0)
                #expect(seen.last?.fraction == 1)
                #expect(seen.last?.bytesSent == 5_000_000)
                #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.fraction <= $1.fraction })
                #expect(seen.count >= 3)
                await lane.uploader.reset()
                #expect(calls.withLock { $0.count } == seen.count)
            }
        }

        @Test("A closure that takes its time misses progress, and holds up nothing but the return")
        func slow() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.accept())
            let count = Locked(0)
            let ended = DispatchSemaphore(value: 0)
            _ = try await lane.uploader.upload(for: lane.request("/x"), from: bytes(5_000_000)) { progress in
                // Waits for the end of the upload, which goes on in the meantime.
                let isFirst = count.withLock { count in
                    count += 1
                    return count == 1
                }
                guard isFirst else { return }
                Task {
                    try await eventually(within: .seconds(20)) { lane.uploader.inFlight == 0 }
                    ended.signal()
                }
                #expect(ended.wait(timeout: .now() + 20) == .success)
            }
            #expect(count.withLock { $0 } == 2)
            #expect(lane.server.requests.first?.bodyByteCount == 5_000_000)
        }

        @Test("A failure is thrown after the last call; in a cancelled task nothing is sent")
        func failure() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.accept(status: 500))
            let error = await #expect(throws: UploadError.self) {
                _ = try await lane.uploader.upload(for: lane.request("/x"), fromFile: lane.scratch.file(bytes(10))) {
                    _ in
                }
            }
            #expect(error?.response?.statusCode == 500)
            let work = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                _ = try await lane.uploader.upload(for: lane.request("/x"), from: bytes(10)) { _ in
                    Issue.record("called")
                }
            }
            await #expect(throws: CancellationError.self) { try await work.value }
            #expect(lane.server.requests.count == 1)
        }

        @Test("A completion handler is called once, after all progress")
        func completion() async throws {
            let lane = try Lane()
            lane.server.route("PUT", "/x", LoopbackServer.accept(body: "done"))
            let (news, tell) = AsyncStream<String>.makeStream()
            lane.uploader.uploadTask(with: lane.request("/x"), from: bytes(10)) { progress in
                tell.yield("\(progress.fraction)")
            } completionHandler: { result in
                tell.yield((try? result.get().text()) ?? "failed")
                tell.finish()
            }
            let seen = await news.reduce(into: [String]()) { $0.append($1) }
            #expect(seen.last == "done")
            #expect(seen.dropLast().last == "1.0")
            #expect(seen.filter { $0 == "done" }.count == 1)
        }

        @Test("A completion handler hears of failures and of a cancellation")
        func failures() async throws {
            let lane = try Lane()
            lane.server.route("PUT", "/hold") { $0.hold() }
            let (results, tell) = AsyncStream<Result<UploadResponse, any Error>>.makeStream()
            var iterator = results.makeAsyncIterator()
            lane.uploader.uploadTask(with: lane.request("/none"), fromFile: lane.scratch.path()) { tell.yield($0) }
            let missing = try #require(await iterator.next())
            #expect(throws: UploadError.self) { try missing.get() }
            let task = lane.uploader.uploadTask(with: lane.request("/hold"), from: bytes(10)) { tell.yield($0) }
            _ = try await lane.server.wait(timeout: .seconds(10)) { $0.requests.count == 1 }
            task.cancel()
            let cancelled = try #require(await iterator.next())
            #expect(throws: CancellationError.self) { try cancelled.get() }
        }
    }

    /// Many uploads as one.
    @Suite struct Batches {
        private func items(_ lane: Lane, _ paths: [String], size: Int = 1000) -> [UploadItem] {
            paths.map { UploadItem(for: lane.request($0), from: .data(bytes(size))) }
        }

        @Test("Results come in the order of the items, failures among them, and never more at a time than allowed")
        func results() async throws {
            let lane = try Lane { $0.maximumUploadsInFlight = 5 }
            let counts = Locked((now: 0, most: 0))
            lane.server.route("PUT", "/*") { exchange in
                counts.withLock { counts in
                    counts.now += 1
                    counts.most = max(counts.most, counts.now)
                }
                try exchange.readBody()
                let path = exchange.request.path
                counts.withLock { $0.now -= 1 }
                try exchange.respond(path.hasSuffix("7") ? 500 : 200, body: path)
            }
            let calls = Locked<[CombinedProgress]>([])
            let paths = (0..<40).map { "/\($0)" }
            let results = await lane.uploader.uploadAll(items(lane, paths), limit: 3) { progress in
                calls.withLock { $0.append(progress) }
            }
            #expect(results.count == 40)
            for (path, result) in zip(paths, results) {
                switch result {
                case .success(let response): #expect(response.text() == path)
                case .failure(let error):
                    #expect(path.hasSuffix("7"))
                    #expect((error as? UploadError)?.response?.text() == path)
                }
            }
            #expect(counts.withLock { $0.most } <= 3)
            let seen = calls.withLock { $0 }
            #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.fraction <= $1.fraction })
            let last = try #require(seen.last)
            #expect(last.fraction == 1)
            #expect(last.totalBytes == 40_000)
            #expect((last.completedCount, last.failedCount, last.totalCount) == (36, 4, 40))
        }

        @Test("If that is asked for, the first failure stops the rest")
        func stopping() async throws {
            let lane = try Lane()
            lane.server.route("PUT", "/hold") { $0.hold() }
            lane.server.route("PUT", "/ok", LoopbackServer.accept())
            let paths = ["/ok", "/hold", "/missing", "/ok", "/ok"]
            let results = await lane.uploader.uploadAll(items(lane, paths), limit: 2, stoppingAtFirstFailure: true)
            #expect((try? results[0].get())?.statusCode == 200)
            #expect(throws: CancellationError.self) { try results[1].get() }
            #expect(throws: UploadError.self) { try results[2].get() }
            #expect(throws: CancellationError.self) { try results[3].get() }
            #expect(throws: CancellationError.self) { try results[4].get() }
            #expect(lane.server.requests.filter { $0.path == "/ok" }.count == 1)
        }

        @Test("Cancelling the task ends it, and keeps what was done")
        func cancelling() async throws {
            let lane = try Lane()
            lane.server.route("PUT", "/hold") { $0.hold() }
            lane.server.route("PUT", "/ok", LoopbackServer.accept())
            let items = items(lane, ["/ok", "/hold", "/ok"])
            let work = Task { await lane.uploader.uploadAll(items, limit: 1) }
            _ = try await lane.server.wait(timeout: .seconds(10)) { $0.requests.count == 2 }
            work.cancel()
            let results = await work.value
            #expect((try? results[0].get())?.statusCode == 200)
            #expect(throws: CancellationError.self) { try results[1].get() }
            #expect(throws: CancellationError.self) { try results[2].get() }
            #expect(lane.server.requests.count == 2)
        }

        @Test("None are none, and a limit below one is one")
        func extremes() async throws {
            let lane = try Lane()
            lane.server.route("PUT", "/*", LoopbackServer.accept())
            let calls = Locked<[Double]>([])
            let none = await lane.uploader.uploadAll([]) { progress in calls.withLock { $0.append(progress.fraction) } }
            #expect(none.isEmpty)
            #expect(calls.withLock { $0 } == [1])
            for limit in [-1, 0, .max] {
                #expect(await lane.uploader.uploadAll(items(lane, ["/x"]), limit: limit).count == 1)
            }
            #expect(await lane.uploader.uploadAll([], limit: .max).isEmpty)
            #expect(lane.server.requests.count == 3)
        }
    }
}
