import Foundation
import Testing

@testable import AsyncUpload

@Suite("What Google Cloud Storage's sessions are answered with")
struct GCSAnswerTests {
    private static let start = "https://storage.test/o?uploadType=resumable"
    private static let session = "https://storage.test/upload?id=1"
    private static let chunk: Int64 = 256 << 10

    private func bench(
        length: Int64? = 1000,
        state: ResumptionState? = nil,
        _ change: (inout GCSOptions) -> Void = { _ in }
    ) -> Bench<GCSMachine> {
        var options = GCSOptions()
        change(&options)
        let start = request(Self.start, "POST", ["X-Upload-Content-Type": "a/b", "Authorization": "Bearer t"])
        let machine = GCSMachine(request: start, length: length, contentType: nil, options: options, state: state)
        return Bench(machine)
    }

    private func startedBench(
        length: Int64? = 1000,
        _ change: (inout GCSOptions) -> Void = { _ in }
    ) async throws -> Bench<GCSMachine> {
        let bench = bench(length: length, change)
        bench.answer(try await bench.request(), 200, ["Location": Self.session])
        return bench
    }

    // MARK: The end

    @Test(
        "An object of another size fails the upload",
        arguments: [
            ([:], #"{"size": "999"}"#), ([:], #"{"size": 1001}"#), ([:], #"{"size": -1}"#),
            (["x-goog-stored-content-length": "0"], ""),
            (["x-goog-stored-content-length": "999"], #"{"size": "1000"}"#),
        ]
    )
    func wrongSize(fields: [String: String], body: String) async throws {
        let bench = try await startedBench()
        #expect(bench.answer(try await bench.request(), 200, fields, body).failed?.code == .protocolViolation)
        #expect(bench.machine.state == nil)
    }

    @Test(
        "An object whose size is not told is believed",
        arguments: ["", "{}", "[]", "{", #"{"size": "many"}"#, #"{"size": 1e300}"#, #"{"size": null}"#]
    )
    func noSize(body: String) async throws {
        let bench = try await startedBench()
        #expect(bench.answer(try await bench.request(), 200, [:], body).isProceed)
        #expect(bench.finalStatus == 200)
        #expect(bench.machine.confirmedByteCount == 1000)
    }

    @Test("An end before the body's is none, unless the size is right")
    func earlyEnd() async throws {
        let bench = try await startedBench()
        #expect(bench.answer(try await bench.request(), 200, bytesSent: 999).failed?.code == .protocolViolation)
        let other = try await startedBench()
        #expect(other.answer(try await other.request(), 200, [:], #"{"size": "1000"}"#, bytesSent: 0).isProceed)
        #expect(other.finalStatus == 200)
    }

    @Test("An end before the end of a body without a length is none")
    func earlyEndOfStream() async throws {
        let bench = try await startedBench(length: nil) { $0.partSize = Self.chunk }
        _ = try bench.read(to: Self.chunk + 1)
        #expect(bench.answer(try await bench.request(), 200).failed?.code == .protocolViolation)

        let other = try await startedBench(length: nil) { $0.partSize = Self.chunk }
        _ = try other.read(to: Self.chunk + 1)
        let size = #"{"size": "\#(Self.chunk + 1)"}"#
        #expect(other.answer(try await other.request(), 200, [:], size).failed?.code == .protocolViolation)
    }

    @Test("Where all that was sent is said to be everything, the body is asked whether it is")
    func endOfStream() async throws {
        for (end, code) in [(Self.chunk, nil), (Self.chunk + 1, UploadError.Code.protocolViolation)] {
            let bench = try await startedBench(length: nil) { $0.partSize = Self.chunk }
            _ = try bench.read(to: Self.chunk + 1)
            #expect(bench.answer(try await bench.request(), 200, [:], #"{"size": "\#(Self.chunk)"}"#).isProceed)
            let reading = try bench.read(to: end, isEnd: true)
            #expect(reading.start == Self.chunk)
            #expect(reading.verdict?.failed?.code == code)
            #expect(bench.finalStatus == (code == nil ? 200 : nil))
        }
    }

    // MARK: What may pass

    @Test("After what may pass the server is asked what it has", arguments: [408, 429, 500, 502, 503, 504])
    func transientStatus(status: Int) async throws {
        let bench = try await startedBench(length: 4 * Self.chunk)
        #expect(bench.answer(try await bench.request(), status).retried?.response?.statusCode == status)
        #expect(bench.isWaiting)
        bench.machine.resume(0)
        let query = try await bench.request()
        #expect(query.method == "PUT")
        #expect(query.address == Self.session)
        #expect(query["Content-Range"] == "bytes */1048576")
        #expect(query["X-Upload-Content-Type"] == nil)
        #expect(query.data == Data())
        #expect(bench.answer(query, 308, ["Range": "bytes=0-524287"]).isProceed)
        #expect(try await bench.request()["Content-Range"] == "bytes 524288-1048575/1048576")
    }

    @Test(
        "So it is after a lost connection, which may have been the last one",
        arguments: [
            UploadError.Code.connectionLostAfterBody, .connectionLostDuringBody, .timedOut, .stalled, .cannotConnect,
        ]
    )
    func transientFailure(code: UploadError.Code) async throws {
        let bench = try await startedBench()
        #expect(bench.fail(try await bench.request(), code, bytesSent: 1000).retried?.code == code)
        bench.machine.resume(0)
        bench.answer(try await bench.request(), 200, [:], #"{"size": "1000"}"#)
        #expect(bench.finalStatus == 200)
    }

    @Test("A query that failed is repeated, of a body without a length without a total")
    func failedQuery() async throws {
        let bench = try await startedBench(length: nil)
        _ = try bench.read(to: 5, isEnd: true)
        bench.fail(try await bench.request(), .stalled)
        for _ in 1...2 {
            bench.machine.resume(0)
            let query = try await bench.request()
            #expect(query["Content-Range"] == "bytes */*")
            bench.answer(query, 500)
        }
    }

    @Test(
        "What cannot pass fails, and is asked about when somebody has helped",
        arguments: [400, 401, 403, 412, 204, 307]
    )
    func refused(status: Int) async throws {
        let bench = try await startedBench()
        let error = try #require(bench.answer(try await bench.request(), status, [:], "no").failed)
        #expect(error.code == .unacceptableStatus)
        #expect(error.response?.body == Data("no".utf8))
        #expect(bench.machine.state != nil)
        #expect(bench.isWaiting)
        bench.machine.resume(0)
        #expect(try await bench.request()["Content-Range"] == "bytes */1000")
    }

    @Test("So does a failure that is the app's own")
    func ownFailure() async throws {
        let bench = try await startedBench()
        #expect(bench.fail(try await bench.request(), .fileChanged).failed?.code == .fileChanged)
    }

    // MARK: Sessions that are gone

    @Test("A session that is gone is started anew, three times at most", arguments: [404, 410])
    func gone(status: Int) async throws {
        let bench = try await startedBench(length: 4 * Self.chunk)
        bench.answer(try await bench.request(), 308, ["Range": "bytes=0-262143"])
        for round in 1...GCSMachine.restartLimit {
            #expect(bench.answer(try await bench.request(), status).isProceed)
            #expect(bench.machine.confirmedByteCount == 0)
            #expect(bench.machine.state == nil)
            let start = try await bench.request()
            #expect(start.address == Self.start)
            bench.answer(start, 200, ["Location": Self.session + "\(round)"])
        }
        let last = try await bench.request()
        #expect(last.part == 0..<(4 * Self.chunk))
        #expect(last.address == Self.session + "3")
        #expect(bench.answer(last, status).failed?.code == .uploadExpired)
        #expect(bench.machine.state == nil)
        #expect(bench.machine.removal == nil)
        bench.machine.resume(0)
        #expect(try await bench.request().address == Self.start)
    }

    @Test("A new session knows nothing of what the old one was sent")
    func newSession() async throws {
        let bench = try await startedBench()
        bench.answer(try await bench.request(), 503)
        bench.machine.resume(0)
        bench.answer(try await bench.request(), 410)
        bench.answer(try await bench.request(), 200, ["Location": Self.session])
        let verdict = bench.answer(try await bench.request(), 308, ["Range": "bytes=0-999"], bytesSent: 10)
        #expect(verdict.failed?.code == .protocolViolation)
    }

    @Test("A session that somebody else has started cannot be started anew")
    func givenSessionGone() async throws {
        let bench = bench { $0.sessionURI = url(Self.session) }
        #expect(bench.machine.state?.location == Self.session)
        let query = try await bench.request()
        #expect(query["Content-Range"] == "bytes */1000")
        #expect(bench.answer(query, 410).failed?.code == .uploadExpired)
        #expect(bench.machine.state == nil)
        bench.machine.resume(0)
        #expect(try await bench.request()["Content-Range"] == "bytes */1000")
    }

    // MARK: Going on

    @Test("A session that was started already is asked what it has")
    func givenSession() async throws {
        let bench = bench(length: 4 * Self.chunk, state: ResumptionState(location: "https://storage.test/old")) {
            $0.sessionURI = url(Self.session)
        }
        let query = try await bench.request()
        #expect(query.address == Self.session)
        bench.answer(query, 308, ["Range": "bytes=0-262143"])
        #expect(try await bench.request().part == Self.chunk..<(4 * Self.chunk))
    }

    @Test("An object that an earlier process has finished is compared with a body without a length")
    func finishedStream() async throws {
        let finished = #"{"size": "1000"}"#
        for (end, isEnd, code) in [(1000, true, nil), (1001, true, UploadError.Code.protocolViolation)] {
            let bench = bench(length: nil, state: ResumptionState(location: Self.session))
            let query = try await bench.request()
            #expect(query["Content-Range"] == "bytes */*")
            bench.answer(query, 200, [:], finished)
            let reading = try bench.read(to: Int64(end), isEnd: isEnd)
            #expect(reading.start == 1000)
            #expect(reading.count == 1)
            #expect(reading.verdict?.failed?.code == code)
            #expect(bench.finalStatus == (code == nil ? 200 : nil))
            #expect(bench.machine.state == nil)
        }
        let shorter = bench(length: nil, state: ResumptionState(location: Self.session))
        shorter.answer(try await shorter.request(), 200, [:], finished)
        #expect(try shorter.read(to: 999, isEnd: true).verdict?.failed?.code == .bodyLengthMismatch)

        let sizeless = bench(length: nil, state: ResumptionState(location: Self.session))
        sizeless.answer(try await sizeless.request(), 200)
        #expect(sizeless.finalStatus == 200)
    }

    @Test("Another process goes on with the session, and may find it finished")
    func fromCheckpoint() async throws {
        let bench = bench(state: ResumptionState(location: Self.session))
        let query = try await bench.request()
        #expect(query["Content-Range"] == "bytes */1000")
        #expect(bench.answer(query, 200, [:], #"{"size": "1000"}"#).isProceed)
        #expect(bench.finalStatus == 200)
        #expect(bench.machine.confirmedByteCount == 1000)
    }

    @Test("A checkpoint that names no URL is none", arguments: [nil, "", "ftp://a/", "a b"])
    func oddCheckpoint(location: String?) async throws {
        let bench = bench(state: ResumptionState(location: location))
        #expect(try await bench.request().method == "POST")
    }

    @Test("After an interruption the server is asked, or the session started again")
    func interruption() async throws {
        let bench = bench(length: 4 * Self.chunk)
        _ = try await bench.request()
        bench.machine.interrupt(bytesSent: [0: 0])
        bench.answer(try await bench.request(), 200, ["Location": Self.session])
        let sent = try await bench.request()
        bench.machine.interrupt(bytesSent: [0: Self.chunk])
        #expect(bench.answer(sent, 200).isProceed)
        let query = try await bench.request()
        #expect(query["Content-Range"] == "bytes */1048576")
        #expect(bench.answer(query, 308, ["Range": "bytes=0-262144"]).failed?.code == .protocolViolation)

        let waiting = try await startedBench()
        waiting.answer(try await waiting.request(), 503)
        waiting.machine.interrupt(bytesSent: [:])
        #expect(try await waiting.request()["Content-Range"] == "bytes */1000")
    }

    @Test("The session is removed by its own request, as long as there is one")
    func removal() async throws {
        let bench = try await startedBench()
        let removal = try #require(bench.machine.removal)
        let request = try await removal.makeRequest()
        #expect(request.httpMethod == "DELETE")
        #expect(request.url?.absoluteString == Self.session)
        guard case .data(let data) = removal.body else { throw Unexpected(text: "\(removal.body)") }
        #expect(data.isEmpty)
        #expect(ResumptionRequest.removedStatusCodes.contains(499))
    }

    @Test("What comes late, or is for somebody else, does no harm")
    func late() async throws {
        let bench = try await startedBench()
        let sent = try await bench.request()
        let other = Sent(identifier: 7, request: sent.request, body: sent.body)
        #expect(bench.answer(other, 404).isProceed)
        bench.answer(sent, 200)
        #expect(bench.answer(sent, 404).isProceed)
        #expect(bench.fail(sent, .timedOut).isProceed)
        bench.machine.resume(0)
        bench.machine.interrupt(bytesSent: [0: 5])
        bench.machine.receiveInterim(head(100), for: 0)
        #expect(bench.finalStatus == 200)
        #expect(bench.finalStatus == 200)

        let confused = try await startedBench()
        _ = try await confused.request()
        #expect(confused.machine.receive(.answer("?"), bytesSent: 0, for: 0).isProceed)
        #expect(try await confused.request()["Content-Range"] == "bytes */1000")
    }
}
