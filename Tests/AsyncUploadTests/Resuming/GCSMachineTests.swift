import Foundation
import Testing

@testable import AsyncUpload

@Suite("Google Cloud Storage's sessions")
struct GCSMachineTests {
    private static let kib: Int64 = 1 << 10
    private static let chunk: Int64 = 256 << 10
    private static let start = "https://storage.test/upload/storage/v1/b/bucket/o?uploadType=resumable&name=a"
    private static let session = "https://storage.test/upload?id=a+b:c%2B&n=x"

    private func bench(
        length: Int64?,
        contentType: String? = nil,
        fields: [String: String] = [:],
        method: String = "POST",
        state: ResumptionState? = nil,
        _ change: (inout GCSOptions) -> Void = { _ in }
    ) -> Bench<GCSMachine> {
        var options = GCSOptions()
        change(&options)
        let machine = GCSMachine(
            request: request(Self.start, method, fields),
            length: length,
            contentType: contentType,
            options: options,
            state: state
        )
        return Bench(machine)
    }

    /// One whose session was just started.
    private func startedBench(
        length: Int64?,
        fields: [String: String] = [:],
        _ change: (inout GCSOptions) -> Void = { _ in }
    ) async throws -> Bench<GCSMachine> {
        let bench = bench(length: length, fields: fields, change)
        bench.answer(try await bench.request(), 200, ["Location": Self.session])
        return bench
    }

    // MARK: Starting

    @Test("A session is started by the caller's request, with what is known of the object")
    func starting() async throws {
        let bench = bench(
            length: 1000,
            contentType: "image/png",
            fields: ["Authorization": "Bearer t", "Content-Length": "7"]
        )
        let start = try await bench.request()
        #expect(start.method == "POST")
        #expect(start.address == Self.start)
        #expect(start.data == Data())
        #expect(start["X-Upload-Content-Type"] == "image/png")
        #expect(start["X-Upload-Content-Length"] == "1000")
        #expect(start["Authorization"] == "Bearer t")
        #expect(start["Content-Length"] == nil)
        #expect(bench.isWaiting)
        #expect(bench.machine.state == nil)
        #expect(bench.machine.removal == nil)
    }

    @Test("What the caller says of the object stays", arguments: ["X-Upload-Content-Type", "X-Upload-Content-Length"])
    func ownFields(name: String) async throws {
        let bench = bench(length: 1000, contentType: "image/png", fields: [name: "own"])
        #expect(try await bench.request()[name] == "own")
    }

    @Test("Only the method that Foundation gives by itself becomes POST", arguments: ["GET", "POST", "PUT", "PATCH"])
    func method(method: String) async throws {
        #expect(try await bench(length: 1, method: method).request().method == (method == "GET" ? "POST" : method))
    }

    @Test("The properties go along as JSON, and the type that the caller names is the object's")
    func metadata() async throws {
        let properties = Data(#"{"name":"a"}"#.utf8)
        let bench = bench(length: nil, fields: ["Content-Type": "text/plain"]) { $0.metadata = properties }
        let start = try await bench.request()
        #expect(start.data == properties)
        #expect(start["Content-Type"] == "application/json; charset=UTF-8")
        #expect(start["X-Upload-Content-Type"] == "text/plain")
        #expect(start["X-Upload-Content-Length"] == nil)

        let json = self.bench(length: 1, contentType: "a/b", fields: ["Content-Type": "application/JSON"]) {
            $0.metadata = properties
        }
        let other = try await json.request()
        #expect(other["Content-Type"] == "application/JSON")
        #expect(other["X-Upload-Content-Type"] == "a/b")
    }

    @Test("The session's URI is used character for character", arguments: [200, 201])
    func sessionURI(status: Int) async throws {
        let bench = bench(length: 10)
        #expect(bench.answer(try await bench.request(), status, ["Location": Self.session]).isProceed)
        #expect(bench.machine.state == ResumptionState(location: Self.session))
        #expect(try await bench.request().address == Self.session)
    }

    @Test("A URI that is no URL as it stands is kept as it stands")
    func oddSessionURI() async throws {
        let bench = bench(length: 10)
        bench.answer(try await bench.request(), 200, ["Location": "https://storage.test/u?id=a|b"])
        #expect(bench.machine.state?.location == "https://storage.test/u?id=a|b")
        #expect(try await bench.request().address == "https://storage.test/u?id=a%7Cb")
    }

    @Test("A relative URI is that of the start")
    func relativeSessionURI() async throws {
        let bench = bench(length: 10)
        bench.answer(try await bench.request(), 200, ["Location": "/u?id=1"])
        #expect(bench.machine.state?.location == "https://storage.test/u?id=1")
    }

    @Test("No session without a URI that may be used", arguments: [nil, "", "http://storage.test/u", "ftp://a/"])
    func noSessionURI(location: String?) async throws {
        let bench = bench(length: 10)
        let verdict = bench.answer(try await bench.request(), 200, location.map { ["Location": $0] } ?? [:])
        #expect(verdict.failed?.code == .protocolViolation)
        #expect(bench.machine.state == nil)
        #expect(bench.isWaiting)
        bench.machine.resume(0)
        #expect(try await bench.request().address == Self.start)
    }

    @Test("A start that failed is repeated after the wait", arguments: [408, 429, 500, 503])
    func startAgain(status: Int) async throws {
        let bench = bench(length: 10)
        #expect(bench.answer(try await bench.request(), status).retried?.response?.statusCode == status)
        #expect(bench.isWaiting)
        bench.machine.resume(0)
        #expect(bench.fail(try await bench.request(), .timedOut).retried?.code == .timedOut)
        bench.machine.resume(0)
        #expect(try await bench.request().method == "POST")
    }

    @Test("A start that is refused fails", arguments: [204, 302, 308, 400, 401, 403, 404, 412])
    func startRefused(status: Int) async throws {
        let bench = bench(length: 10)
        #expect(bench.answer(try await bench.request(), status).failed?.code == .unacceptableStatus)
    }

    // MARK: Sending

    @Test("Everything goes into one request, which carries the caller's fields but those of the start")
    func oneRequest() async throws {
        let fields = [
            "Content-Type": "text/plain", "X-Upload-Content-Type": "a/b", "X-Upload-Content-Length": "1", "X-Own": "1",
            "x-goog-resumable": "start", "Authorization": "Bearer t",
        ]
        let bench = try await startedBench(length: 1000, fields: fields)
        let sent = try await bench.request()
        #expect(sent.method == "PUT")
        #expect(sent.part == 0..<1000)
        #expect(sent["Content-Range"] == "bytes 0-999/1000")
        #expect(sent["X-Own"] == "1")
        #expect(sent["Authorization"] == "Bearer t")
        for name in ["Content-Type", "X-Upload-Content-Type", "X-Upload-Content-Length", "x-goog-resumable"] {
            #expect(sent[name] == nil)
        }
        #expect(bench.answer(sent, 200, [:], #"{"size": "1000"}"#).isProceed)
        #expect(bench.finalStatus == 200)
        #expect(bench.machine.confirmedByteCount == 1000)
        #expect(bench.machine.state == nil)
        #expect(bench.machine.removal == nil)
    }

    @Test("A session of another origin is told no secrets")
    func otherOrigin() async throws {
        let bench = bench(length: 10, fields: ["Authorization": "Bearer t", "Cookie": "a=b", "X-Own": "1"])
        bench.answer(try await bench.request(), 200, ["Location": "https://other.test/u"])
        let sent = try await bench.request()
        #expect(sent["Authorization"] == nil)
        #expect(sent["Cookie"] == nil)
        #expect(sent["X-Own"] == "1")
    }

    @Test("Chunks are multiples of 256 KiB but for the last one")
    func chunks() async throws {
        let bench = try await startedBench(length: 600 * Self.kib) { $0.partSize = 300 * Self.kib }
        let first = try await bench.request()
        #expect(first.part == 0..<Self.chunk)
        #expect(first["Content-Range"] == "bytes 0-262143/614400")
        #expect(bench.answer(first, 308, ["Range": "bytes=0-262143"]).isProceed)
        #expect(bench.machine.confirmedByteCount == Self.chunk)
        let second = try await bench.request()
        #expect(second["Content-Range"] == "bytes 262144-524287/614400")
        bench.answer(second, 308, ["Range": "bytes=0-524287"])
        let last = try await bench.request()
        #expect(last["Content-Range"] == "bytes 524288-614399/614400")
        bench.answer(last, 201, ["x-goog-stored-content-length": "614400"])
        #expect(bench.finalStatus == 201)
    }

    @Test("An empty body has no range")
    func emptyBody() async throws {
        let bench = try await startedBench(length: 0)
        let sent = try await bench.request()
        #expect(sent["Content-Range"] == "bytes */0")
        #expect(sent.data == Data())
        bench.answer(sent, 200)
        #expect(bench.finalStatus == 200)
    }

    @Test("The upload goes on from what the server has, be it less than was sent")
    func partlyStored() async throws {
        let bench = try await startedBench(length: 4 * Self.chunk)
        #expect(bench.answer(try await bench.request(), 308, ["Range": "bytes=0-262143"]).isProceed)
        #expect(try await bench.request().part == Self.chunk..<(4 * Self.chunk))
    }

    @Test("Without a range the server has nothing")
    func nothingStored() async throws {
        let bench = try await startedBench(length: 4 * Self.chunk) { $0.partSize = Self.chunk }
        bench.answer(try await bench.request(), 308, ["Range": "bytes=0-262143"])
        bench.answer(try await bench.request(), 308)
        #expect(bench.machine.confirmedByteCount == 0)
        #expect(try await bench.request().part == 0..<Self.chunk)
    }

    @Test(
        "A range that cannot be fails the upload",
        arguments: ["", "bytes=1-5", "bytes=0-", "bytes=0--1", "0-5", "bytes=0-9223372036854775807", "bytes=0-5,7-8"]
    )
    func oddRange(range: String) async throws {
        let bench = try await startedBench(length: 4 * Self.chunk)
        #expect(bench.answer(try await bench.request(), 308, ["Range": range]).failed?.code == .protocolViolation)
        #expect(bench.machine.state == nil)
    }

    @Test("More than was handed over is not believed, by nobody, and can still be removed")
    func moreThanSent() async throws {
        let bench = try await startedBench(length: 4 * Self.chunk)
        let verdict = bench.answer(
            try await bench.request(),
            308,
            ["Range": "bytes=0-524287"],
            bytesSent: 2 * Self.chunk - 1
        )
        #expect(verdict.failed?.code == .protocolViolation)
        #expect(bench.machine.confirmedByteCount == 0)
        #expect(bench.machine.state == nil)
        #expect(bench.machine.removal != nil)
    }

    @Test("What was handed over once may be claimed later")
    func claimedLater() async throws {
        let bench = try await startedBench(length: 4 * Self.chunk)
        bench.fail(try await bench.request(), .connectionLostDuringBody, bytesSent: 3 * Self.chunk)
        bench.machine.resume(0)
        bench.answer(try await bench.request(), 308)
        bench.answer(try await bench.request(), 308, ["Range": "bytes=0-262143"], bytesSent: Self.chunk)
        bench.fail(try await bench.request(), .stalled)
        bench.machine.resume(0)
        #expect(bench.answer(try await bench.request(), 308, ["Range": "bytes=0-786431"]).isProceed)
        #expect(try await bench.request().part == (3 * Self.chunk)..<(4 * Self.chunk))
    }

    @Test("More than the body is not believed")
    func moreThanLength() async throws {
        let bench = bench(length: 1000, state: ResumptionState(location: Self.session))
        let verdict = bench.answer(try await bench.request(), 308, ["Range": "bytes=0-1000"])
        #expect(verdict.failed?.code == .protocolViolation)
    }

    @Test("A server that takes nothing is waited for")
    func standstill() async throws {
        let bench = try await startedBench(length: 4 * Self.chunk) { $0.partSize = Self.chunk }
        for _ in 1..<GCSMachine.idleLimit { #expect(bench.answer(try await bench.request(), 308).isProceed) }
        let verdict = bench.answer(try await bench.request(), 308)
        #expect(verdict.retried?.code == .stalled)
        #expect(bench.isWaiting)
        bench.machine.resume(0)
        // It is asked, and then given one more.
        #expect(bench.answer(try await bench.request(), 308).isProceed)
        #expect(bench.answer(try await bench.request(), 308).retried != nil)
        bench.machine.resume(0)
        bench.answer(try await bench.request(), 308)
        #expect(bench.answer(try await bench.request(), 308, ["Range": "bytes=0-262143"]).isProceed)
        #expect(bench.answer(try await bench.request(), 308, ["Range": "bytes=0-262143"]).isProceed)
    }

    @Test("Going to and fro is no progress")
    func toAndFro() async throws {
        let bench = try await startedBench(length: 4 * Self.chunk) { $0.partSize = Self.chunk }
        bench.answer(try await bench.request(), 308, ["Range": "bytes=0-262143"])
        var retried = false
        for round in 0..<GCSMachine.idleLimit {
            let fields = round.isMultiple(of: 2) ? [:] : ["Range": "bytes=0-262143"]
            retried = bench.answer(try await bench.request(), 308, fields).retried != nil
        }
        #expect(retried)
    }

    // MARK: Bodies without a length

    @Test("A body without a length is read ahead, and its last chunk names the total")
    func unknownLength() async throws {
        let bench = try await startedBench(length: nil) { $0.partSize = Self.chunk }
        let reading = try bench.read(to: Self.chunk + 1)
        #expect(reading.start == 0)
        #expect(reading.count == Int(Self.chunk) + 1)
        let first = try await bench.request()
        #expect(first["Content-Range"] == "bytes 0-262143/*")
        bench.answer(first, 308, ["Range": "bytes=0-262143"])
        #expect(try bench.read(to: Self.chunk + 5, isEnd: true).start == Self.chunk)
        let last = try await bench.request()
        #expect(last["Content-Range"] == "bytes 262144-262148/262149")
        bench.answer(last, 200, [:], #"{"size": 262149}"#)
        #expect(bench.finalStatus == 200)
        #expect(bench.machine.confirmedByteCount == Self.chunk + 5)
    }

    @Test("A body that ends where the server has all of it is finished by its total")
    func finalise() async throws {
        let bench = try await startedBench(length: nil) { $0.partSize = Self.chunk }
        _ = try bench.read(to: Self.chunk + 1)
        bench.answer(try await bench.request(), 308, ["Range": "bytes=0-262143"])
        _ = try bench.read(to: Self.chunk, isEnd: true)
        let last = try await bench.request()
        #expect(last["Content-Range"] == "bytes */262144")
        #expect(last.data == Data())
        bench.answer(last, 200)
        #expect(bench.finalStatus == 200)
    }

    @Test("What the server has lost of a body without a length is read again")
    func readAgain() async throws {
        let bench = try await startedBench(length: nil) { $0.partSize = Self.chunk }
        _ = try bench.read(to: Self.chunk + 1)
        bench.answer(try await bench.request(), 308, ["Range": "bytes=0-262143"])
        _ = try bench.read(to: Self.chunk + 5, isEnd: true)
        bench.answer(try await bench.request(), 308)
        #expect(try bench.read().start == 0)
    }

    @Test("A read that failed is repeated without the server being asked")
    func failedRead() async throws {
        let bench = try await startedBench(length: nil)
        let reading = try bench.read()
        let verdict = bench.machine.receive(
            .failure(UploadError(.bodyUnreadable)),
            bytesSent: 0,
            for: reading.identifier
        )
        #expect(verdict.failed?.code == .bodyUnreadable)
        bench.machine.resume(0)
        #expect(try bench.read().start == 0)
    }

    @Test("A server that has more than a body without a length turns out to have")
    func shorterBody() async throws {
        let bench = bench(length: nil, state: ResumptionState(location: Self.session))
        bench.answer(try await bench.request(), 308, ["Range": "bytes=0-262143"])
        let reading = try bench.read(to: 7, isEnd: true)
        #expect(reading.start == Self.chunk)
        #expect(reading.verdict?.failed?.code == .bodyLengthMismatch)
        #expect(bench.machine.state == nil)
    }

    @Test("A size that no body has is not believed even where none is known")
    func impossibleOffset() async throws {
        let bench = bench(length: nil, state: ResumptionState(location: Self.session)) { $0.partSize = .max }
        let verdict = bench.answer(try await bench.request(), 308, ["Range": "bytes=0-9223372036854775806"])
        #expect(verdict.failed?.code == .protocolViolation)
    }

    @Test("Parts of any size can be asked for", arguments: [Int64.min, 0, 1, .max])
    func oddPartSizes(size: Int64) async throws {
        let bench = try await startedBench(length: nil) { $0.partSize = size }
        #expect(try bench.read().count > Int(Self.chunk))
    }
}
