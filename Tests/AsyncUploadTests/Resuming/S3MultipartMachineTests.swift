import Foundation
import Testing

@testable import AsyncUpload

@Suite("Amazon S3's multipart uploads")
struct S3MultipartMachineTests {
    private static let mib = S3.mib

    // MARK: One request

    @Test("A small body is sent by the upload's own request", arguments: [0, 1, 5 << 20] as [Int64])
    func small(length: Int64) async throws {
        let bench = S3.bench(length, contentType: "a/b")
        let sent = try await bench.request()
        #expect(sent.address == S3.object)
        #expect(sent.method == "PUT")
        #expect(sent["Content-Type"] == "a/b")
        #expect(sent.part == 0..<length)
        #expect(bench.isWaiting)
        #expect(bench.machine.state == nil)
        #expect(bench.machine.removal == nil)
        #expect(bench.answer(sent, 204).isProceed)
        #expect(bench.finalStatus == 204)
        #expect(bench.machine.confirmedByteCount == length)
    }

    @Test("How small that is can be chosen; nothing at all is always small")
    func limits() async throws {
        _ = try S3.bench(1) { $0.singleRequestLimit = 0 }.question()
        _ = try await S3.bench(0) { $0.singleRequestLimit = -1 }.request()
        _ = try await S3.bench(100 * Self.mib) { $0.singleRequestLimit = .max }.request()
        _ = try S3.bench(5 << 30 + 1) { $0.singleRequestLimit = .max }.question()
        _ = try S3.bench(5 << 20 + 1).question()
    }

    @Test("It is sent again after what may pass, and by nobody else's request")
    func smallAgain() async throws {
        let bench = S3.bench(10)
        #expect(bench.answer(try await bench.request(), 503).retried != nil)
        #expect(bench.isWaiting)
        bench.machine.resume(0)
        #expect(bench.answer(try await bench.request(), 400, [:], S3.error("RequestTimeout")).retried != nil)
        bench.machine.resume(0)
        #expect(bench.fail(try await bench.request(), .stalled).retried != nil)
        bench.machine.resume(0)
        #expect(bench.answer(try await bench.request(), 403).failed?.code == .unacceptableStatus)
        bench.machine.resume(0)
        #expect(bench.answer(try await bench.request(), 404, [:], S3.error("NoSuchUpload")).failed != nil)
        bench.machine.resume(0)
        #expect(bench.answer(try await bench.request(), 200, bytesSent: 9).failed?.code == .bodyNotSent)
        bench.machine.interrupt(bytesSent: [0: 5])
        #expect(try await bench.request().part == 0..<10)
    }

    @Test("A body without a length is read to see whether it is small", arguments: [0, 5 << 20] as [Int64])
    func smallStream(end: Int64) async throws {
        let bench = S3.bench(nil)
        let reading = try bench.read(to: end, isEnd: true)
        #expect(reading.start == 0)
        #expect(reading.count == 8 << 20 + 1)
        let sent = try await bench.request()
        #expect(sent.part == 0..<end)
        #expect(sent.address == S3.object)
    }

    @Test("It is not read farther for that than memory allows")
    func smallStreamInMemory() async throws {
        let change = { (options: inout S3MultipartOptions) in
            options.singleRequestLimit = .max
            options.memoryLimit = 20 << 20
        }
        #expect(try S3.bench(nil, change).read().count == 20 << 20 + 1)
        let bench = S3.bench(nil, change)
        _ = try bench.read(to: 20 << 20 + 1)
        try bench.reply("u")
        #expect(try await bench.request().part == 0..<(8 << 20))
    }

    // MARK: Parts

    @Test("Parts are sent at the same time, each by a request of its own")
    func parts() async throws {
        let bench = S3.bench(20 * Self.mib) { $0.parallelParts = 2 }
        #expect(try bench.question() == 0)
        #expect(bench.isWaiting)
        #expect(bench.machine.state == nil)
        #expect(bench.machine.receive(.answer("u/ 1"), bytesSent: 0, for: 0).isProceed)
        #expect(bench.machine.state == ResumptionState(location: "u/ 1", partSize: 8 << 20))

        let first = try await bench.request()
        let second = try await bench.request()
        #expect(bench.isWaiting)
        #expect(first.identifier == 1)
        #expect(first.method == "PUT")
        #expect(first.address == "https://s3.test/part1?upload=u/%201&call=1")
        #expect(first["Content-Type"] == nil)
        #expect(first.part == 0..<(8 * Self.mib))
        #expect(second.part == (8 * Self.mib)..<(16 * Self.mib))

        bench.answer(second, 200, ["ETag": "\"b\""])
        #expect(bench.machine.confirmedByteCount == 8 * Self.mib)
        let third = try await bench.request()
        #expect(third.part == (16 * Self.mib)..<(20 * Self.mib))
        bench.answer(third, 200, ["ETag": "c"])
        #expect(bench.isWaiting)
        bench.answer(first, 201, ["ETag": "W/\"a\""])
        #expect(bench.tags == [1: "W/\"a\"", 2: "\"b\"", 3: "c"])
        #expect(bench.machine.confirmedByteCount == 20 * Self.mib)

        let complete = try await bench.request()
        #expect(complete.method == "POST")
        #expect(complete["Content-Type"] == "application/xml")
        #expect(complete.data == S3Answer.completionBody(bench.machine.state?.parts ?? [:]))
        #expect(bench.answer(complete, 200, [:], S3.done).isProceed)
        #expect(bench.finalStatus == 200)
        #expect(bench.machine.state == nil)
        #expect(bench.machine.removal == nil)
    }

    @Test("One part at least is sent at a time", arguments: [Int.min, 0, 1])
    func oneAtATime(count: Int) async throws {
        let bench = try S3.begun(20 * Self.mib) { $0.parallelParts = count }
        _ = try await bench.request()
        #expect(bench.isWaiting)
    }

    @Test("A body that does not fit fails before anything is sent")
    func tooLarge() {
        #expect(S3.bench(.max).failure?.code == .bodySizeNotAllowed)
        #expect(S3.bench(100_000 * Self.mib) { $0.partSize = 5 << 20 }.failure?.code == .bodySizeNotAllowed)
        #expect(S3.bench(6 << 30) { $0.partSize = 6 << 30 }.failure?.code == .bodySizeNotAllowed)
    }

    @Test("A part that failed is sent again after its wait, while the others go on")
    func failedPart() async throws {
        let bench = try S3.begun(32 * Self.mib) { $0.parallelParts = 3 }
        let (first, second) = (try await bench.request(), try await bench.request())
        #expect(bench.answer(first, 500).retried != nil)
        let third = try await bench.request()
        #expect(third.part?.lowerBound == 16 * Self.mib)
        // What waits keeps its place, or a server that refuses all would be sent all of them at once.
        #expect(bench.isWaiting)
        #expect(bench.fail(second, .connectionLostDuringBody).retried != nil)
        #expect(bench.answer(third, 200, ["ETag": "c"]).isProceed)
        #expect(bench.answer(try await bench.request(), 200, ["ETag": "d"]).isProceed)
        #expect(bench.isWaiting)
        bench.machine.resume(second.identifier)
        bench.machine.resume(second.identifier)
        let again = try await bench.request()
        #expect(again.part == second.part)
        #expect(again.identifier == second.identifier)
        #expect(again.address != second.address)
        #expect(bench.isWaiting)
        bench.answer(again, 200, ["ETag": "b"])
        bench.machine.resume(first.identifier)
        #expect(bench.answer(try await bench.request(), 400, [:], S3.error("BadDigest")).retried != nil)
        bench.machine.resume(first.identifier)
        bench.answer(try await bench.request(), 200, ["ETag": "a"])
        #expect(bench.tags == [1: "a", 2: "b", 3: "c", 4: "d"])
        #expect(try await bench.request().method == "POST")
    }

    @Test("A part that is refused fails, and is sent again when somebody has helped", arguments: [400, 401, 412, 301])
    func refusedPart(status: Int) async throws {
        let bench = try S3.begun(9 * Self.mib)
        let first = try await bench.request()
        #expect(bench.answer(first, status).failed?.code == .unacceptableStatus)
        _ = try await bench.request()
        #expect(bench.isWaiting)
        bench.machine.resume(first.identifier)
        #expect(try await bench.request().part == first.part)
    }

    @Test(
        "A part whose signature is no good is signed once more",
        arguments: [(403, S3.error("AccessDenied")), (403, ""), (400, S3.error("ExpiredToken"))]
    )
    func denied(status: Int, body: String) async throws {
        let bench = try S3.begun(9 * Self.mib) { $0.parallelParts = 2 }
        #expect(bench.answer(try await bench.request(), status, [:], body).isProceed)
        let again = try await bench.request()
        #expect(again.part?.lowerBound == 0)
        #expect(again.address?.hasSuffix("call=2") == true)
        #expect(bench.answer(again, status, [:], body).failed?.code == .unacceptableStatus)
        // Each part has its own second chance.
        let other = try await bench.request()
        #expect(bench.answer(other, status, [:], body).isProceed)
        #expect(try await bench.request().part == other.part)
    }

    @Test("A part without a tag, or before all of it was sent, is none")
    func untagged() async throws {
        let bench = try S3.begun(9 * Self.mib)
        #expect(bench.answer(try await bench.request(), 200).failed?.code == .protocolViolation)
        let second = try await bench.request()
        #expect(bench.answer(second, 200, ["ETag": ""]).failed?.code == .protocolViolation)
        bench.machine.resume(second.identifier)
        let early = bench.answer(try await bench.request(), 200, ["ETag": "a"], bytesSent: Self.mib - 1)
        #expect(early.failed?.code == .bodyNotSent)
        #expect(bench.tags == [:])
        #expect(bench.machine.confirmedByteCount == 0)
    }

    @Test("The app that cannot begin an upload, or gives it no name, is asked again when somebody has helped")
    func create() throws {
        let bench = S3.bench(9 * Self.mib)
        let failure = ResumptionOutcome.failure(UploadError(.interceptorFailed))
        #expect(bench.machine.receive(failure, bytesSent: 0, for: try bench.question()).failed != nil)
        #expect(bench.isWaiting)
        bench.machine.resume(0)
        let loss = ResumptionOutcome.failure(UploadError(.connectionLostAfterBody))
        #expect(bench.machine.receive(loss, bytesSent: 0, for: try bench.question()).retried != nil)
        bench.machine.resume(0)
        #expect(try bench.reply("").failed?.code == .protocolViolation)
        bench.machine.resume(0)
        #expect(try bench.reply("u").isProceed)
    }

    // MARK: Bodies without a length

    @Test("A body without a length is read ahead and sent one part at a time")
    func stream() async throws {
        let bench = S3.bench(nil)
        #expect(try bench.read(to: 8 << 20 + 1).verdict?.isProceed == true)
        try bench.reply("u")
        #expect(bench.machine.state == ResumptionState(location: "u", partSizeLimit: 64 << 20))
        let first = try await bench.request()
        #expect(first.part == 0..<(8 << 20))
        #expect(bench.isWaiting)
        #expect(bench.answer(first, 503).retried != nil)
        #expect(bench.isWaiting)
        bench.machine.resume(first.identifier)
        try await bench.store()
        let reading = try bench.read()
        #expect(reading.start == 8 << 20)
        #expect(reading.count == 8 << 20 + 1)
        #expect(bench.isWaiting)
        let failure = ResumptionOutcome.failure(UploadError(.bodyUnreadable))
        #expect(bench.machine.receive(failure, bytesSent: 0, for: reading.identifier).failed != nil)
        bench.machine.resume(reading.identifier)
        _ = try bench.read(to: 16 << 20, isEnd: true)
        #expect(try await bench.store().part == (8 << 20)..<(16 << 20))
        #expect(bench.machine.confirmedByteCount == 16 << 20)
        bench.answer(try await bench.request(), 200, [:], S3.done)
        #expect(bench.finalStatus == 200)
    }

    @Test("More than 10,000 parts of a body without a length are too many")
    func endlessStream() throws {
        let parts = Dictionary(uniqueKeysWithValues: (1...9999).map { ($0, "t") })
        let bench = S3.bench(nil, state: S3.state(parts, partSize: nil))
        let plan = S3PartPlan(resumed: nil)
        _ = try bench.read(to: plan.start(of: 10_000) + 1)
        let reading = try bench.read(to: plan.start(of: 10_001) + 1)
        #expect(reading.start == plan.start(of: 10_000))
        #expect(bench.failure?.code == .bodySizeNotAllowed)
        #expect(bench.failure?.code == .bodySizeNotAllowed)
        #expect(bench.machine.state != nil)
    }
}
