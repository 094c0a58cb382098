import Foundation
import Testing

@testable import AsyncUpload

@Suite("How the driver tries again", .timeLimit(.minutes(5)))
struct RetryDriving {
    private typealias Step = FakeTransport.Step

    private let time = VirtualTime()
    private let data = bytes(2500)

    private func lane(
        _ scripts: [Step]...,
        policy: RetryPolicy = .exponential(initialDelay: .seconds(4)),
        configure: (inout Uploader.Configuration) -> Void = { _ in }
    ) -> FakeLane {
        FakeLane(scripts.map { FakeTransport.Script(steps: $0) }, environment: time.environment) {
            $0.retry = policy
            configure(&$0)
        }
    }

    private static let busy: [Step] = [.sentAll, .head(503)]
    private static let accepted: [Step] = [.sentAll, .head(201)]

    @Test("503 twice, then 201: the whole body goes out three times, after waits that grow")
    func refusedTwice() async throws {
        let lane = lane(Self.busy, Self.busy, Self.accepted)
        let response = try await lane.uploader.response(for: lane.request(), from: data)
        #expect(response.statusCode == 201)
        #expect(response.metrics.transactions.map(\.statusCode) == [503, 503, 201])
        #expect(response.metrics.transactions.map(\.bytesSent) == [2500, 2500, 2500])
        #expect(lane.fake.received.map(\.body) == [data, data, data])
        // Half of 4 s and half of 8 s: a random number of 0.5.
        #expect(time.elapsed >= .seconds(6))
        #expect(response.metrics.transactions.map { ($0.start / .seconds(1)).rounded(.down) } == [0, 2, 6])
        #expect(response.metrics.duration >= .seconds(6))
        #expect(response.metrics.startDate == Date(timeIntervalSince1970: 1_000_000_000))
    }

    @Test("The fraction never goes back; while an upload waits it says so each second")
    func progress() async throws {
        let fake = FakeTransport(
            [.sent(1500), .fail(UploadError(.connectionLostDuringBody))],
            [.sent(500), .sentAll, .head(200)]
        )
        let queue = AdmissionQueue(limit: 1)
        let reports = Locked<[UploadProgress]>([])
        var configuration = Uploader.Configuration()
        configuration.retry = .exponential(initialDelay: .milliseconds(4600))
        let driver = UploadDriver(
            number: 0,
            request: request("http://a.test/a"),
            body: .data(data),
            configuration: configuration,
            transport: fake,
            queue: queue,
            ticket: queue.enter(),
            environment: time.environment,
            report: { progress in reports.withLock { $0.append(progress) } }
        )
        _ = try await driver.run()
        let seen = reports.withLock { $0 }
        #expect(seen.map(\.fraction) == [0, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 1, 1])
        #expect(seen.map(\.attempt) == [1, 1, 1, 1, 1, 1, 2, 2, 2, 2])
        #expect(seen.map(\.bytesSent) == [0, 1500, 1500, 1500, 1500, 1500, 0, 500, 2500, 2500])
        #expect(seen.compactMap(\.retryingIn).map { ($0 / .milliseconds(1)).rounded() } == [2300, 1300, 300, 0])
        #expect(Set(seen.compactMap(\.retryReason)) == ["The connection was lost while the body was sent"])
        #expect(queue.counts == (0, 0))
    }

    @Test("A snapshot of a wait has no rate, and the next request begins anew")
    func waiting() {
        var meter = ProgressMeter(totalBytes: 100, at: .now)
        _ = meter.beginRequest(at: .now)
        _ = meter.sent(60, at: .now + .seconds(1))
        let waiting = meter.waiting(for: .seconds(3), after: "503")
        #expect(waiting.retryingIn == .seconds(3))
        #expect(waiting.retryReason == "503")
        #expect(waiting.fraction == 0.6)
        #expect(waiting.bytesPerSecond == 0)
        #expect(waiting.estimatedTimeRemaining == nil)
        let again = meter.beginRequest(at: .now)
        #expect(again.retryingIn == nil && again.retryReason == nil)
        #expect(again.fraction == 0.6)
        #expect(again.bytesSent == 0)
        #expect(again.attempt == 2)
    }

    @Test("A POST is not sent twice, unless it has a key: then with the same one each time")
    func keys() async throws {
        let plain = lane(Self.busy, Self.accepted)
        let error = try await plain.failure(data, method: "POST")
        #expect(error.response?.statusCode == 503)
        #expect(error.attempts == 1)
        let keyed = lane(Self.busy, Self.busy, Self.accepted) { $0.idempotencyKey = .automatic }
        let response = try await keyed.uploader.response(for: keyed.request("/a", "POST"), from: data)
        #expect(response.metrics.attempts == 3)
        let keys = keyed.fake.received.map { $0.request.value(forHTTPHeaderField: "Idempotency-Key") }
        #expect(Set(keys).count == 1 && keys[0] != nil)
        #expect(keyed.fake.received.map(\.body) == [data, data, data])
        _ = try await keyed.uploader.response(for: keyed.request("/a", "POST"), from: data)
        #expect(keyed.fake.received.last?.request.value(forHTTPHeaderField: "Idempotency-Key") != keys[0])
    }

    @Test("After the last attempt its own failure is thrown, with all that was sent")
    func givesUp() async throws {
        let lane = lane(
            Self.busy,
            [.fail(UploadError(.cannotConnect))],
            [.sent(10), .head(502), .data("bad gateway")],
            policy: .exponential(limit: 2)
        )
        let error = try await lane.failure(data)
        #expect(error.code == .unacceptableStatus)
        #expect(error.response?.text() == "bad gateway")
        #expect(error.attempts == 3)
        #expect(error.metrics.transactions.map(\.statusCode) == [503, nil, 502])
        #expect(error.metrics.transactions.map(\.errorCode) == [nil, .cannotConnect, nil])
        #expect(error.metrics == error.response?.metrics)
    }

    @Test("C63: a file that cannot be read is no reason to try again, nor one that has changed since")
    func files() async throws {
        let scratch = try ScratchFolder()
        let file = try scratch.file(data)
        let lane = lane()
        let missing = await #expect(throws: UploadError.self) {
            try await lane.uploader.response(for: lane.request(), fromFile: scratch.url.appending(path: "missing"))
        }
        #expect(missing?.code == .fileNotFound)
        #expect(missing?.attempts == 0)
        let busy = FakeLane(
            [FakeTransport.Script(steps: Self.busy)],
            environment: VirtualTime(onSleep: { _ in try? Data("other".utf8).write(to: file) }).environment
        ) {
            $0.retry = .exponential(initialDelay: .seconds(4))
        }
        let changed = await #expect(throws: UploadError.self) {
            try await busy.uploader.response(for: busy.request(), fromFile: file)
        }
        #expect(changed?.code == .fileChanged)
        #expect(changed?.attempts == 1)
    }

    @Test("C62: a stream that can be made anew is")
    func streams() async throws {
        let lane = lane(Self.busy, Self.accepted)
        let data = data
        let anew = UploadBody.stream(length: nil) {
            AsyncStream {
                $0.yield(data); $0.finish()
            }
        }
        let response = try await lane.uploader.response(for: lane.request(), from: anew)
        #expect(response.metrics.attempts == 2)
        #expect(lane.fake.received.map(\.body) == [data, data])
    }

    @Test("What is waiting holds no place: another upload has its turn meanwhile")
    func place() async throws {
        let gate = FakeTransport.Point()
        let time = VirtualTime(onSleep: { _ in await gate.pass() })
        let lane = FakeLane(
            [
                FakeTransport.Script(steps: [.fail(UploadError(.stalled))], path: "/a"),
                FakeTransport.Script(steps: Self.accepted, path: "/b"),
            ],
            environment: time.environment
        ) {
            $0.maximumUploadsInFlight = 1
            $0.retry = .exponential(initialDelay: .seconds(1))
        }
        let first = lane.uploader.task(for: lane.request("/a"), from: data)
        await gate.reached.wait()
        #expect(try await lane.uploader.response(for: lane.request("/b"), from: data).statusCode == 201)
        gate.go.open()
        #expect(try await first.response.metrics.attempts == 2)
        #expect(lane.fake.received.map(\.path) == ["/a", "/b", "/a"])
    }

    @Test("C13: who is cancelled while it waits ends at once, and sends nothing more")
    func cancelled() async throws {
        let lane = FakeLane([FakeTransport.Script(steps: Self.busy)]) {
            $0.retry = .exponential(initialDelay: .seconds(1000))
        }
        let task = lane.uploader.task(for: lane.request(), from: data)
        for await progress in task.progress where progress.retryingIn != nil { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.response }
        await task.waitUntilReleased()
        #expect(lane.fake.received.count == 1)
        #expect(lane.uploader.inFlight == 0)
    }

    @Test("An attempt that could only begin after the time for the whole upload is not waited for")
    func totalLimit() async throws {
        let lane = lane(Self.busy, Self.busy, Self.accepted) { $0.timeoutIntervalForResource = 5 }
        let error = try await lane.failure(data)
        // 2 s were waited for, the next 4 s were not.
        #expect(error.response?.statusCode == 503)
        #expect(error.attempts == 2)
        #expect(time.elapsed < .seconds(4))
    }

    @Test("After a redirect a new attempt begins at the first address")
    func redirected() async throws {
        let lane = lane(
            [.sentAll, .head(307, ["Location": "/b"])],
            [.fail(UploadError(.connectionLostDuringBody))],
            [.sentAll, .head(307, ["Location": "/c"])],
            Self.accepted
        )
        let response = try await lane.uploader.response(for: lane.request(), from: data)
        #expect(lane.fake.received.map(\.path) == ["/a", "/b", "/a", "/c"])
        #expect(response.metrics.redirectCount == 2)
        #expect(response.metrics.transactions.map(\.isRedirected) == [true, false, true, false])
    }

    @Test("C65: a POST that was acted on is not sent again because the GET for its outcome fails; a PUT may be")
    func outcome() async throws {
        let seeOther: [Step] = [.sentAll, .head(303, ["Location": "/outcome"])]
        for failure: [Step] in [
            [.head(503)], [.fail(UploadError(.connectionLostAfterBody))], [.fail(UploadError(.cannotConnect))],
        ] {
            let post = lane(seeOther, failure)
            let error = try await post.failure(data, method: "POST")
            #expect(error.attempts == 2)
            #expect(post.fake.received.map(\.request.httpMethod) == ["POST", "GET"])
            let put = lane(seeOther, failure, seeOther, Self.accepted)
            #expect(try await put.uploader.response(for: put.request(), from: data).metrics.attempts == 4)
        }
    }

    @Test("A credential that was asked for goes with the first request of the next attempt")
    func credential() async throws {
        let lane = lane([.head(401, ["WWW-Authenticate": "Basic realm=r"])], Self.busy, Self.accepted) {
            $0.credential = URLCredential(user: "u", password: "p", persistence: .none)
        }
        _ = try await lane.uploader.response(for: lane.request(), from: data)
        let sent = lane.fake.received.map { $0.request.value(forHTTPHeaderField: "Authorization") }
        #expect(sent == [nil, "Basic dTpw", "Basic dTpw"])
    }

    @Test("What happens is told in order, without secrets")
    func activities() async throws {
        let lines = Locked<[String]>([])
        let lane = lane(
            [.sent(5), .head(503)],
            [.sentAll, .head(307, ["Location": "/b?token=secret"])],
            Self.accepted
        ) {
            $0.onActivity = { activity in lines.withLock { $0.append("\(activity)") } }
        }
        var request = lane.request("/a?token=secret")
        request.url = url("http://user:secret@a.test/a?token=secret")
        request.setValue("secret", forHTTPHeaderField: "X-Api-Key")
        _ = try await lane.uploader.response(for: request, from: data)
        let seen = lines.withLock { $0 }
        let start = "upload 0 PUT http://a.test/a: "
        #expect(seen.allSatisfy { $0.hasPrefix(start) })
        #expect(
            seen.map { $0.dropFirst(start.count).prefix { $0 != "," } } == [
                "starts", "request to http://a.test/a status 503", "waits 2.0 s after 503",
                "request to http://a.test/a status 307", "request to http://a.test/b status 201",
                "succeeded after 3 requests and 2.0 s",
            ]
        )
        #expect(!seen.joined().contains("secret"))
    }

    @Test("Failures and cancellations are told, too")
    func endings() async throws {
        let events = Locked<[String]>([])
        let lane = lane([.sentAll, .head(404)]) { configuration in
            configuration.onActivity = { activity in
                if case .failure = activity.event { events.withLock { $0.append("\(activity)") } }
            }
        }
        _ = try await lane.failure(data)
        let task = lane.uploader.task(for: lane.request("/b"), from: data)
        task.cancel()
        await task.waitUntilReleased()
        let expected = ["upload 0 PUT http://a.test/a: failed: 404", "upload 1 PUT http://a.test/b: failed: cancelled"]
        #expect(events.withLock { $0 } == expected)
    }
}
