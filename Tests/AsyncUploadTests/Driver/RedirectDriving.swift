import Foundation
import Testing

@testable import AsyncUpload

@Suite("How the driver follows redirects and challenges", .timeLimit(.minutes(5)))
struct RedirectDriving {
    private let data = bytes(2500)

    @Test("A redirect sends the whole body again", arguments: [301, 302, 307, 308])
    func resends(status: Int) async throws {
        let lane = FakeLane([.sentAll, .head(status, ["Location": "/b"])], [.sentAll, .head(201), .data("ok")])
        let response = try await lane.uploader.response(for: lane.request(), from: data)
        #expect(response.statusCode == 201)
        #expect(response.text() == "ok")
        #expect(response.url == url("http://a.test/b"))
        #expect(response.metrics.attempts == 2)
        #expect(response.metrics.bytesSent == 2500)
        #expect(lane.fake.received.map(\.body) == [data, data])
        #expect(lane.fake.received.map(\.request.httpMethod) == ["PUT", "PUT"])
        #expect(lane.fake.log == ["send /a", "ended /a", "send /b", "ended /b"])
    }

    @Test("A redirect may come before the body was handed over; what counts is the last request")
    func earlyRedirect() async throws {
        let lane = FakeLane([.head(307, ["Location": "/b"])], [.sentAll, .head(200)])
        #expect(try await lane.uploader.response(for: lane.request(), from: data).metrics.bytesSent == 2500)
        #expect(lane.fake.received.map(\.body) == [data, data])
    }

    @Test("What an earlier request handed over does not count for the last one")
    func earlyAnswerAfterRedirect() async throws {
        let lane = FakeLane([.sentAll, .head(307, ["Location": "/b"])], [.head(200)])
        let error = try await lane.failure(data)
        #expect(error.code == .bodyNotSent)
        #expect(error.detail == "0 of 2500 bytes")
    }

    @Test("The body of a redirect is not part of the answer")
    func bodyOfRedirect() async throws {
        let lane = FakeLane([.sentAll, .head(307, ["Location": "/b"]), .data("moved")], [.sentAll, .head(200)])
        #expect(try await lane.uploader.response(for: lane.request(), from: data).body == nil)
    }

    @Test("A challenge is answered with the credential and the whole body")
    func challenge() async throws {
        let lane = FakeLane([.sent(10), .head(401, ["WWW-Authenticate": "Basic realm=r"])], [.sentAll, .head(200)]) {
            $0.credential = URLCredential(user: "u", password: "p", persistence: .none)
        }
        let response = try await lane.uploader.response(for: lane.request(), from: data)
        #expect(response.metrics.attempts == 2)
        #expect(lane.fake.received.map(\.body) == [data, data])
        let authorizations = lane.fake.received.map { $0.request.value(forHTTPHeaderField: "Authorization") }
        #expect(authorizations == [nil, "Basic dTpw"])
    }

    @Test("A second challenge is the answer")
    func secondChallenge() async throws {
        let challenge = FakeTransport.Step.head(401, ["WWW-Authenticate": "Basic realm=r"])
        let lane = FakeLane([challenge], [.sentAll, challenge, .data("no")]) {
            $0.credential = URLCredential(user: "u", password: "p", persistence: .none)
        }
        let error = try await lane.failure()
        #expect(error.code == .unacceptableStatus)
        #expect(error.response?.statusCode == 401)
        #expect(error.response?.text() == "no")
        #expect(error.attempts == 2)
        #expect(lane.fake.received.count == 2)
    }

    @Test("Progress over a redirect never goes back, and the attempt counts")
    func progress() async throws {
        let (before, middle) = (FakeTransport.Point(), FakeTransport.Point())
        let lane = FakeLane(
            [.sentAll, .head(307, ["Location": "/b"])],
            [.hold(before), .sent(1000), .hold(middle), .sentAll, .head(200)]
        )
        let task = lane.uploader.task(for: lane.request(), from: data)
        let reader = Task { await Observation(task.events) }
        await before.reached.wait()
        #expect(task.currentProgress == UploadProgress(fraction: 1, totalBytes: 2500, attempt: 2))
        before.go.open()
        var seen: [UploadProgress] = []
        for await progress in task.progress {
            seen.append(progress)
            if progress.bytesSent == 1000 { break }
        }
        #expect(seen.last?.attempt == 2)
        #expect(seen.allSatisfy { $0.fraction == 1 })
        middle.go.open()
        #expect(try await task.response.statusCode == 200)
        #expect(await reader.value.response != nil)
        #expect(task.currentProgress.bytesSent == 2500)
        #expect(task.currentProgress.attempt == 2)
    }

    @Test("Each step of progress is reported, in order")
    func everyReport() async throws {
        let fake = FakeTransport(
            [.sent(500), .sentAll, .head(308, ["Location": "/b"])],
            [.sent(100), .sentAll, .head(200)]
        )
        let queue = AdmissionQueue(limit: 1)
        let reports = Locked<[UploadProgress]>([])
        let driver = UploadDriver(
            number: 0,
            request: request("http://a.test/a"),
            body: .data(bytes(1000)),
            configuration: .init(),
            transport: fake,
            queue: queue,
            ticket: queue.enter(),
            environment: .system,
            report: { progress in reports.withLock { $0.append(progress) } }
        )
        _ = try await driver.run()
        let seen = reports.withLock { $0 }
        #expect(seen.map(\.attempt) == [1, 1, 1, 2, 2, 2, 2])
        #expect(seen.map(\.bytesSent) == [0, 500, 1000, 0, 100, 1000, 1000])
        #expect(seen.map(\.fraction) == [0, 0.5, 1, 1, 1, 1, 1])
        #expect(queue.counts == (0, 0))
    }

    @Test("A GET that follows the upload of the whole body decides about it", arguments: [303, 302, 301])
    func turnsIntoGet(status: Int) async throws {
        let lane = FakeLane([.sentAll, .head(status, ["Location": "/b"])], [.head(200), .data("stored")])
        let seen = await Observation(lane.uploader.upload(for: lane.request("/a", "POST"), from: data))
        #expect(seen.text == "stored")
        #expect(lane.fake.received.map(\.request.httpMethod) == ["POST", "GET"])
        #expect(lane.fake.received.map(\.body) == [data, nil])
    }

    @Test(
        "A GET does not stand for an upload whose body was not handed over",
        arguments: [303, 302, 301],
        [0, 1, 2499]
    )
    func earlyGet(status: Int, sent: Int64) async throws {
        let lane = FakeLane([.sent(sent), .head(status, ["Location": "/b"])], [.head(200), .data("page")])
        let error = try await lane.failure(data, method: "POST")
        #expect(error.code == .bodyNotSent)
        #expect(error.detail == "\(sent) of 2500 bytes")
        #expect(error.response?.statusCode == 200)
        #expect(error.attempts == 2)
    }

    @Test(
        "A redirect that is not followed carries the response",
        arguments: [
            ("file:///x", UploadError.Code.redirectRefused), ("/a", .tooManyRedirects),
        ]
    )
    func notFollowed(location: String, code: UploadError.Code) async throws {
        let redirect: [FakeTransport.Step] = [.sentAll, .head(307, ["Location": location]), .data("moved")]
        let lane = FakeLane([redirect, redirect, redirect].map { .init(steps: $0) }) {
            $0.redirects = .follow(limit: 2)
        }
        let error = try await lane.failure()
        #expect(error.code == code)
        #expect(error.response?.statusCode == 307)
        #expect(error.response?.headers["location"] == location)
        #expect(error.response?.text() == "moved")
        #expect(error.attempts == lane.fake.received.count)
        #expect(lane.fake.received.count == (code == .tooManyRedirects ? 3 : 1))
    }

    @Test("Where redirects are refused, one is an unacceptable status")
    func refused() async throws {
        let lane = FakeLane([.sentAll, .head(307, ["Location": "/b"])]) { $0.redirects = .refuse }
        let error = try await lane.failure()
        #expect(error.code == .unacceptableStatus)
        #expect(error.response?.statusCode == 307)
        #expect(lane.fake.received.count == 1)
    }

    @Test("A refused expectation is withdrawn and the body sent again")
    func expectation() async throws {
        let lane = FakeLane([.head(417)], [.sentAll, .head(200)])
        var request = lane.request()
        request.setValue("100-continue", forHTTPHeaderField: "Expect")
        #expect(try await lane.uploader.response(for: request, from: data).statusCode == 200)
        #expect(lane.fake.received.map { $0.request.value(forHTTPHeaderField: "Expect") } == ["100-continue", nil])
        #expect(lane.fake.received.last?.body == data)
    }
}
