import Foundation
import Testing

@testable import AsyncUpload

@Suite("What the driver makes of an answer", .timeLimit(.minutes(5)))
struct AnswerDriving {
    @Test("An accepted response has everything")
    func accepted() async throws {
        let lane = FakeLane([.sent(0), .sent(500), .sentAll, .head(201, ["X-One": "1"]), .data("o"), .data("k")])
        let response = try await lane.uploader.response(for: lane.request(), from: bytes(1000))
        #expect(response.statusCode == 201)
        #expect(response.headers["x-one"] == "1")
        #expect(response.text() == "ok")
        #expect(response.url == url("http://a.test/a"))
        #expect(response.metrics.bytesSent == 1000)
        #expect(response.metrics.attempts == 1)
        #expect(response.metrics.duration >= .zero)
        #expect(lane.fake.received.map(\.body) == [bytes(1000)])
        #expect(lane.fake.received.map(\.responseBodyLimit) == [lane.uploader.configuration.responseBodyLimit])
    }

    @Test("An empty body is a body", arguments: [[.head(200)], [.sent(0), .head(204)]] as [[FakeTransport.Step]])
    func emptyBody(script: [FakeTransport.Step]) async throws {
        let lane = FakeLane(script)
        let seen = await Observation(lane.uploader.upload(for: lane.request(), from: Data()))
        #expect(seen.response == .some(nil))
        #expect(lane.fake.received.map(\.body) == [Data()])
    }

    @Test("JSON goes with its type, unless the request has one", arguments: [nil, "application/merge-patch+json"])
    func contentType(own: String?) async throws {
        let lane = FakeLane()
        var request = lane.request()
        request.setValue(own, forHTTPHeaderField: "Content-Type")
        _ = try await lane.uploader.response(for: request, from: .json(["a": 1]))
        let sent = lane.fake.received.first
        #expect(sent?.request.value(forHTTPHeaderField: "Content-Type") == own ?? "application/json")
        #expect(sent?.body == Data(#"{"a":1}"#.utf8))
    }

    @Test("An accepted status before the whole body was handed over is no success", arguments: [0, 1, 999])
    func early(sent: Int64) async throws {
        let lane = FakeLane([.sent(sent), .head(200), .data("ok")])
        let error = try await lane.failure()
        #expect(error.code == .bodyNotSent)
        #expect(error.detail == "\(sent) of 1000 bytes")
        #expect(error.response?.statusCode == 200)
        #expect(error.response?.text() == "ok")
        #expect(error.response?.metrics.bytesSent == sent)
        #expect(error.attempts == 1)
    }

    @Test("Bytes that are handed over after the head count")
    func bytesAfterTheHead() async throws {
        let lane = FakeLane([.sent(1), .head(200), .sentAll])
        #expect(try await lane.uploader.response(for: lane.request(), from: bytes(1000)).statusCode == 200)
    }

    @Test("A status that is not accepted comes with all there is", arguments: [300, 304, 400, 413, 500, 503])
    func unacceptable(status: Int) async throws {
        let lane = FakeLane([.sent(10), .head(status, ["X-Reason": "full"]), .data("dis"), .data("k")])
        let error = try await lane.failure()
        #expect(error.code == .unacceptableStatus)
        #expect(error.detail?.hasPrefix("\(status)") == true)
        #expect(error.response?.statusCode == status)
        #expect(error.response?.headers["x-reason"] == "full")
        #expect(error.response?.text() == "disk")
        #expect(error.response?.metrics.bytesSent == 10)
        #expect(error.response?.metrics.attempts == 1)
        #expect(error.attempts == 1)
        #expect(error.underlying == nil)
    }

    @Test("Which statuses are accepted is for the configuration to say")
    func configuredStatuses() async throws {
        let lane = FakeLane([.sentAll, .head(308)], [.sentAll, .head(200)]) { $0.acceptableStatusCodes = [308] }
        #expect(try await lane.uploader.response(for: lane.request(), from: Data()).statusCode == 308)
        #expect(try await lane.failure().response?.statusCode == 200)
    }

    @Test(
        "A refusal whose connection is cut is still a refusal",
        arguments: [.connectionLostBeforeBody, .connectionLostDuringBody, .connectionLostAfterBody, .transferFailed]
            as [UploadError.Code]
    )
    func cutAfterRefusal(code: UploadError.Code) async throws {
        let lane = FakeLane([.sent(10), .head(413), .data("too l"), .fail(UploadError(code))])
        let error = try await lane.failure()
        #expect(error.code == .unacceptableStatus)
        #expect(error.response?.statusCode == 413)
        #expect(error.response?.text() == "too l")
    }

    @Test(
        "A refusal does not hide what is not the connection's fault",
        arguments: [.responseTooLarge, .fileChanged, .timedOut] as [UploadError.Code]
    )
    func otherFailureAfterRefusal(code: UploadError.Code) async throws {
        let lane = FakeLane([.head(500), .data("x"), .fail(UploadError(code))])
        let error = try await lane.failure()
        #expect(error.code == code)
        #expect(error.response?.statusCode == 500)
        #expect(error.response?.text() == "x")
    }

    @Test("An accepted response that is cut off is a lost connection with what there was")
    func cutAfterAcceptance() async throws {
        let lane = FakeLane([
            .sentAll, .head(201), .data("par"), .fail(UploadError(.connectionLostAfterBody, detail: "cut")),
        ])
        let error = try await lane.failure()
        #expect(error.code.isConnectionLoss)
        #expect(error.detail == "cut")
        #expect(error.response?.statusCode == 201)
        #expect(error.response?.text() == "par")
        #expect(error.attempts == 1)
    }

    @Test("A response that is too large keeps its status and its code")
    func tooLarge() async throws {
        let lane = FakeLane([.sentAll, .head(200), .fail(UploadError(.responseTooLarge))]) { $0.responseBodyLimit = 3 }
        let error = try await lane.failure()
        #expect(error.code == .responseTooLarge)
        #expect(error.response?.statusCode == 200)
        #expect(lane.fake.received.map(\.responseBodyLimit) == [3])
    }

    @Test("Interim responses are not the answer")
    func interim() async throws {
        let lane = FakeLane(
            [.interim(100), .sentAll, .interim(103), .interim(104), .head(200)],
            [.sentAll, .interim(100)]
        )
        #expect(try await lane.uploader.response(for: lane.request(), from: bytes(10)).statusCode == 200)
        let error = try await lane.failure()
        #expect(error.code.isConnectionLoss)
        #expect(error.response == nil)
    }

    @Test("A failure before any answer has no response, and counts its requests")
    func noAnswer() async throws {
        let lane = FakeLane([.sent(3), .fail(UploadError(.cannotConnect, underlying: URLError(.cannotConnectToHost)))])
        let error = try await lane.failure()
        #expect(error.code == .cannotConnect)
        #expect(error.response == nil)
        #expect(error.attempts == 1)
        #expect((error.underlying as? URLError)?.code == .cannotConnectToHost)
    }

    @Test("A failure after a redirect does not have the redirect for its response")
    func failureAfterRedirect() async throws {
        let lane = FakeLane([.sentAll, .head(307, ["Location": "/b"])], [.fail(UploadError(.timedOut))])
        let error = try await lane.failure()
        #expect(error.code == .timedOut)
        #expect(error.response == nil)
        #expect(error.attempts == 2)
    }

    @Test("The fraction after an early refusal is what was handed over")
    func fractionOfFailure() async throws {
        let lane = FakeLane([.sent(250), .head(413)])
        let task = lane.uploader.task(for: lane.request(), from: bytes(1000))
        let seen = await Observation(task.events)
        #expect(seen.refusedStatus == 413)
        #expect(task.currentProgress.fraction == 0.25)
    }

    @Test("What cannot be sent fails before the transport is asked")
    func nothingSent() async throws {
        let scratch = try ScratchFolder()
        let lane = FakeLane()
        let cases: [(URLRequest, UploadBody, UploadError.Code)] = [
            (lane.request(), .file(scratch.path("missing")), .fileNotFound),
            (lane.request(), .file(scratch.url), .notARegularFile),
            (lane.request(), .json(Double.nan), .bodyNotEncodable),
            (lane.request("/a", "GET"), .data(bytes(1)), .invalidRequest),
            (request("ftp://a.test/"), .data(bytes(1)), .invalidRequest),
        ]
        for (request, body, code) in cases {
            let seen = await Observation(lane.uploader.upload(for: request, from: body))
            #expect(seen.code == code)
            #expect((seen.error as? UploadError)?.attempts == 0)
            #expect(seen.fractions == [0])
        }
        #expect(lane.fake.log == [])
    }

    @Test("What cannot be sent fails at once, even behind others that wait")
    func failsWithoutATurn() async throws {
        let here = FakeTransport.Point()
        let lane = FakeLane([.hold(here), .sentAll, .head(200)]) { $0.maximumUploadsInFlight = 1 }
        let first = lane.uploader.task(for: lane.request(), from: bytes(10))
        await here.reached.wait()
        #expect(try await lane.failure(bytes(1), method: "GET").code == .invalidRequest)
        here.go.open()
        #expect(try await first.response.statusCode == 200)
        #expect(try await lane.uploader.response(for: lane.request(), from: bytes(1)).statusCode == 200)
    }

    @Test("A file that is gone when its turn comes is not found, and frees its place")
    func goneInTheMeantime() async throws {
        let scratch = try ScratchFolder()
        let file = try scratch.file(bytes(10))
        let here = FakeTransport.Point()
        let lane = FakeLane([.hold(here), .sentAll, .head(200)]) { $0.maximumUploadsInFlight = 1 }
        let first = lane.uploader.task(for: lane.request(), from: bytes(10))
        await here.reached.wait()
        let second = lane.uploader.task(for: lane.request("/b"), fromFile: file)
        try FileManager.default.removeItem(at: file)
        here.go.open()
        #expect(try await first.response.statusCode == 200)
        let error = await #expect(throws: UploadError.self) { try await second.response }
        #expect(error?.code == .fileNotFound)
        #expect(try await lane.uploader.response(for: lane.request("/c"), from: bytes(1)).statusCode == 200)
        #expect(lane.fake.received.map(\.path) == ["/a", "/c"])
    }
}
