import Foundation
import Testing

@testable import AsyncUpload

@Suite("How interceptors have their say", .timeLimit(.minutes(5)))
struct InterceptorDriving {
    private struct Scripted: UploadInterceptor {
        var prepare: @Sendable (URLRequest, Int) async throws -> URLRequest = { request, _ in request }
        var recover: @Sendable (UploadError, URLRequest, Int) async -> UploadRecovery = { _, _, _ in .fail }

        func prepare(_ request: URLRequest, attempt: Int) async throws -> URLRequest {
            try await prepare(request, attempt)
        }

        func recover(from error: UploadError, of request: URLRequest, attempt: Int) async -> UploadRecovery {
            await recover(error, request, attempt)
        }
    }

    private let data = bytes(2500)

    private func lane(
        _ scripts: [FakeTransport.Step]...,
        interceptors: any UploadInterceptor...,
        configure: (inout Uploader.Configuration) -> Void = { _ in }
    ) -> FakeLane {
        FakeLane(scripts.map { FakeTransport.Script(steps: $0) }, environment: VirtualTime().environment) {
            $0.interceptors = interceptors
            configure(&$0)
        }
    }

    private func values(_ field: String, _ lane: FakeLane) -> [String?] {
        lane.fake.received.map { $0.request.value(forHTTPHeaderField: field) }
    }

    private static let numbering = Scripted(prepare: { request, attempt in
        var request = request
        let before = request.value(forHTTPHeaderField: "X-Number").map { "\($0)," } ?? ""
        request.setValue("\(before)\(attempt)", forHTTPHeaderField: "X-Number")
        return request
    })

    @Test("Each request is prepared, after redirects, challenges and waits too, and from what it would be without")
    func preparesEach() async throws {
        let lane = lane(
            [.sentAll, .head(503)],
            [.sentAll, .head(307, ["Location": "/b"])],
            [.sentAll, .head(401, ["WWW-Authenticate": "Basic realm=r"])],
            [.sentAll, .head(201)],
            interceptors: Self.numbering
        ) {
            $0.retry = .exponential()
            $0.credential = URLCredential(user: "u", password: "p", persistence: .none)
        }
        let response = try await lane.uploader.response(for: lane.request(), from: data)
        #expect(response.statusCode == 201)
        #expect(values("X-Number", lane) == ["1", "2", "3", "4"])
        #expect(lane.fake.received.map(\.body) == [data, data, data, data])
    }

    @Test("Several prepare in order")
    func order() async throws {
        let lane = lane([.sentAll, .head(200)], interceptors: Self.numbering, Self.numbering)
        _ = try await lane.uploader.response(for: lane.request(), from: data)
        #expect(values("X-Number", lane) == ["1,1"])
    }

    @Test("C27: what is a credential does not go to another origin, whoever adds it")
    func otherOrigin() async throws {
        let signing = Scripted(prepare: { request, _ in
            var request = request
            request.setValue("secret", forHTTPHeaderField: "authorization")
            request.setValue("v", forHTTPHeaderField: "X-Other")
            return request
        })
        let lane = lane(
            [.sentAll, .head(307, ["Location": "/b"])],
            [.sentAll, .head(307, ["Location": "http://b.test/c"])],
            [.sentAll, .head(307, ["Location": "http://a.test/d"])],
            [.sentAll, .head(200)],
            interceptors: signing
        )
        _ = try await lane.uploader.response(for: lane.request(), from: data)
        #expect(values("Authorization", lane) == ["secret", "secret", nil, "secret"])
        #expect(values("X-Other", lane) == ["v", "v", "v", "v"])
    }

    @Test("An interceptor may send the request elsewhere; redirects start from there")
    func elsewhere() async throws {
        let moving = Scripted(prepare: { request, attempt in
            var request = request
            if attempt == 1 { request.url = url("http://c.test/x/y") }
            return request
        })
        let lane = lane([.sentAll, .head(307, ["Location": "z"])], [.sentAll, .head(200)], interceptors: moving)
        let response = try await lane.uploader.response(for: lane.request(), from: data)
        #expect(response.metrics.transactions.map(\.url) == [url("http://c.test/x/y"), url("http://c.test/x/z")])
    }

    @Test("What an interceptor makes of a request is checked like any other")
    func invalid() async throws {
        let breaking = Scripted(prepare: { request, _ in
            var request = request
            request.url = url("ftp://a.test/a")
            return request
        })
        let lane = lane(interceptors: breaking)
        #expect(try await lane.failure(data).code == .invalidRequest)
        #expect(lane.fake.received.isEmpty)
    }

    @Test("An error of an interceptor fails the upload before anything is sent")
    func failing() async throws {
        struct Refusal: Error {}
        let foreign = lane(interceptors: Scripted(prepare: { _, _ in throw Refusal() }))
        let error = try await foreign.failure(data)
        #expect(error.code == .interceptorFailed)
        #expect(error.underlying is Refusal)
        #expect(error.attempts == 0)
        #expect(foreign.fake.received.isEmpty)
        let own = lane(interceptors: Scripted(prepare: { _, _ in throw UploadError(.permissionDenied) }))
        #expect(try await own.failure(data).code == .permissionDenied)
    }

    @Test(
        "An interceptor that wants to can have the upload attempted again; what it gets is what was sent and what came"
    )
    func recovers() async throws {
        let asked = Locked<[String]>([])
        let recovering = Scripted(recover: { error, request, attempt in
            asked.withLock { $0.append("\(error.response?.statusCode ?? 0) \(request.url?.path ?? "") \(attempt)") }
            return .retry
        })
        let lane = lane([.sentAll, .head(409)], [.sentAll, .head(200)], interceptors: Self.numbering, recovering)
        let response = try await lane.uploader.response(for: lane.request(), from: data)
        #expect(response.metrics.attempts == 2)
        #expect(asked.withLock { $0 } == ["409 /a 1"])
        #expect(values("X-Number", lane) == ["1", "2"])
    }

    @Test("It is not asked twice in a row about the same, nor more than ten times")
    func notForEver() async throws {
        let asked = Locked(0)
        let stubborn = Scripted(recover: { _, _, _ in
            asked.withLock { $0 += 1 }
            return .retry
        })
        let same = lane([.head(409)], [.head(409)], interceptors: stubborn)
        #expect(try await same.failure(data).attempts == 2)
        #expect(asked.withLock { $0 } == 1)
        asked.withLock { $0 = 0 }
        let scripts = (0..<20).map { FakeTransport.Script(steps: [.head($0 % 2 == 0 ? 409 : 410)]) }
        let different = FakeLane(scripts) { $0.interceptors = [stubborn] }
        #expect(try await different.failure(data).attempts == 11)
        #expect(asked.withLock { $0 } == 10)
    }

    @Test("It is not asked when the retry policy helps")
    func notAsked() async throws {
        let asked = Locked(0)
        let counting = Scripted(recover: { _, _, _ in
            asked.withLock { $0 += 1 }
            return .retry
        })
        let lane = lane([.sentAll, .head(503)], [.sentAll, .head(200)], interceptors: counting) {
            $0.retry = .exponential()
        }
        #expect(try await lane.uploader.response(for: lane.request(), from: data).metrics.attempts == 2)
        #expect(asked.withLock { $0 } == 0)
    }

    @Test("One that does not come to an end is not waited for when the time for the upload is up")
    func hanging() async throws {
        let end = Gate()
        let preparing = FakeLane([]) {
            $0.timeoutIntervalForResource = 0.1
            $0.interceptors = [
                Scripted(prepare: { request, _ in
                    await end.wait(); return request
                })
            ]
        }
        #expect(try await preparing.failure(data).code == .timedOut)
        #expect(preparing.fake.received.isEmpty)
        let recovering = FakeLane([FakeTransport.Script(steps: [.head(409)])]) {
            $0.timeoutIntervalForResource = 0.1
            $0.interceptors = [
                Scripted(recover: { _, _, _ in
                    await end.wait(); return .retry
                })
            ]
        }
        #expect(try await recovering.failure(data).response?.statusCode == 409)
        end.open()
    }

    // MARK: Bearer tokens

    @Test("C30: many uploads that are refused together renew the token once, and are each sent once more")
    func bearer() async throws {
        let renewals = Locked<[String?]>([])
        let bearer = BearerTokenInterceptor(token: "old") { refused in
            renewals.withLock { $0.append(refused) }
            return "new"
        }
        let points = (0..<8).map { _ in FakeTransport.Point() }
        let scripts = points.enumerated().map { number, point in
            FakeTransport.Script(steps: [.sentAll, .hold(point), .head(401)], path: "/\(number)")
        }
        let lane = FakeLane(scripts) {
            $0.interceptors = [bearer]
            $0.maximumUploadsInFlight = 8
        }
        let tasks = (0..<8).map { lane.uploader.task(for: lane.request("/\($0)"), from: data) }
        for point in points { await point.reached.wait() }
        for point in points { point.go.open() }
        for task in tasks { #expect(try await task.response.metrics.attempts == 2) }
        #expect(renewals.withLock { $0 } == ["old"])
        for path in (0..<8).map({ "/\($0)" }) {
            let sent = lane.fake.received.filter { $0.path == path }
            #expect(sent.map { $0.request.value(forHTTPHeaderField: "Authorization") } == ["Bearer old", "Bearer new"])
        }
    }

    @Test("A token that is being renewed is not sent")
    func renewing() async throws {
        let (asked, mayRenew) = (Gate(), Gate())
        let bearer = BearerTokenInterceptor(token: "old") { _ in
            asked.open()
            await mayRenew.wait()
            return "new"
        }
        let lane = FakeLane([FakeTransport.Script(steps: [.head(401)], path: "/a")]) { $0.interceptors = [bearer] }
        let first = lane.uploader.task(for: lane.request("/a"), from: data)
        await asked.wait()
        let second = lane.uploader.task(for: lane.request("/b"), from: data)
        mayRenew.open()
        _ = try await (first.response, second.response)
        #expect(Set(values("Authorization", lane)) == ["Bearer old", "Bearer new"])
        #expect(lane.fake.received.filter { $0.path == "/b" }.count == 1)
    }

    @Test("A failure of an interceptor is not mistaken for what the server said before")
    func laterFailure() async throws {
        struct Refusal: Error {}
        let preparing = Scripted(prepare: { request, attempt in
            if attempt == 2 { throw Refusal() }
            return request
        })
        let lane = lane([.sentAll, .head(503)], interceptors: preparing) { $0.retry = .exponential() }
        let error = try await lane.failure(data)
        #expect(error.code == .interceptorFailed)
        #expect(error.response == nil)
        #expect(error.attempts == 1)
    }

    @Test("A new token that is refused, too, is not renewed again")
    func refusedTwice() async throws {
        let count = Locked(0)
        let bearer = BearerTokenInterceptor { _ in
            count.withLock {
                $0 += 1; return "t\($0)"
            }
        }
        let lane = lane([.head(401)], [.head(401), .data("no")], interceptors: bearer)
        let error = try await lane.failure(data)
        #expect(error.response?.text() == "no")
        #expect(values("Authorization", lane) == ["Bearer t1", "Bearer t2"])
        #expect(count.withLock { $0 } == 2)
    }

    @Test("If the token cannot be had or renewed, that or the refusal is told")
    func noToken() async throws {
        struct SignedOut: Error {}
        let none = lane(interceptors: BearerTokenInterceptor { _ in throw SignedOut() })
        let error = try await none.failure(data)
        #expect(error.underlying is SignedOut)
        #expect(none.fake.received.isEmpty)
        let old = lane([.head(401)], interceptors: BearerTokenInterceptor(token: "t") { _ in throw SignedOut() })
        #expect(try await old.failure(data).response?.statusCode == 401)
        let same = lane([.head(401)], interceptors: BearerTokenInterceptor(token: "t") { _ in "t" })
        #expect(try await same.failure(data).attempts == 1)
    }

    @Test("Who is cancelled does not wait for the token, and the others get it")
    func cancelledMeanwhile() async throws {
        let (asked, mayRenew) = (Gate(), Gate())
        let bearer = BearerTokenInterceptor { _ in
            asked.open()
            await mayRenew.wait()
            return "t"
        }
        let lane = lane([.sentAll, .head(200)], interceptors: bearer)
        let cancelled = lane.uploader.task(for: lane.request("/a"), from: data)
        await asked.wait()
        let other = lane.uploader.task(for: lane.request("/b"), from: data)
        cancelled.cancel()
        await cancelled.waitUntilReleased()
        mayRenew.open()
        #expect(try await other.response.statusCode == 200)
        #expect(lane.fake.received.map(\.path) == ["/b"])
    }

    @Test("A dump does not show the token")
    func dumps() async {
        let bearer = BearerTokenInterceptor(token: "s3cret") { _ in "" }
        var text = ""
        dump(bearer, to: &text)
        #expect(!text.contains("s3cret"))
    }
}
