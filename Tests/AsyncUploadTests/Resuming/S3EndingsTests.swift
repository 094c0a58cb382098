import Foundation
import Testing

@testable import AsyncUpload

@Suite("How Amazon S3's multipart uploads end and go on")
struct S3EndingsTests {
    private static let mib = S3.mib

    /// One whose only part is there.
    private func complete(_ change: (inout S3MultipartOptions) -> Void = { _ in }) async throws -> Bench<
        S3MultipartMachine
    > {
        let bench = try S3.begun(6 * Self.mib, change)
        try await bench.store()
        return bench
    }

    // MARK: Completing

    @Test(
        "An error that may pass, or an answer that breaks off, is not the end, whatever its status",
        arguments: [
            "   \n" + S3.error("InternalError"), S3.error("SlowDown"), S3.error("ServiceUnavailable"), "", "   ",
            "<CompleteMultipartUploadResult>", "<Error><Code>Invalid",
        ]
    )
    func lateError(body: String) async throws {
        let bench = try await complete()
        let complete = try await bench.request()
        #expect(bench.answer(complete, 200, [:], body).retried?.code == .transferFailed)
        #expect(bench.isWaiting)
        #expect(bench.machine.state != nil)
        bench.machine.resume(complete.identifier)
        bench.answer(try await bench.request(), 200, [:], "  " + S3.done)
        #expect(bench.finalStatus == 200)
    }

    @Test("Parts that the server does not want fail the upload for good", arguments: [200, 400])
    func condemned(status: Int) async throws {
        for code in ["InvalidPart", "InvalidPartOrder", "EntityTooSmall"] {
            let bench = try await complete()
            #expect(
                bench.answer(try await bench.request(), status, [:], S3.error(code)).failed?.code == .unacceptableStatus
            )
            #expect(bench.machine.state == nil)
            #expect(bench.machine.removal != nil)
        }
    }

    @Test("Another refusal leaves the parts as they are")
    func refused() async throws {
        let bench = try await complete()
        #expect(bench.answer(try await bench.request(), 403).isProceed)
        let again = try await bench.request()
        #expect(again.method == "POST")
        #expect(bench.answer(again, 403, [:], S3.error("AccessDenied")).failed?.code == .unacceptableStatus)
        #expect(bench.machine.state != nil)
        bench.machine.resume(again.identifier)
        #expect(try await bench.request().method == "POST")
    }

    @Test("A type that was signed stays")
    func signedType() async throws {
        let bench = try await complete { options in
            options.complete = { _ in request("https://s3.test/complete", "POST", ["Content-Type": "text/xml"]) }
        }
        #expect(try await bench.request()["Content-Type"] == "text/xml")
    }

    @Test("An upload that is gone after a lost reply may be complete", arguments: 0..<5)
    func lostReply(how: Int) async throws {
        let bench = try await complete()
        let first = try await bench.request()
        switch how {
        case 0: #expect(bench.fail(first, .connectionLostAfterBody).retried != nil)
        case 1: #expect(bench.answer(first, 503).retried != nil)
        case 2: #expect(bench.answer(first, 200, [:], "<Comp").retried != nil)
        case 3: #expect(bench.fail(first, .responseUnreadable).failed != nil)
        default: bench.machine.interrupt(bytesSent: [first.identifier: 100])
        }
        bench.machine.resume(first.identifier)
        let second = try await bench.request()
        let error = try #require(bench.answer(second, 404, [:], S3.error("NoSuchUpload")).failed)
        #expect(error.code == .uploadExpired)
        #expect(error.detail?.contains("may be complete") == true)
        #expect(bench.machine.state == nil)
        #expect(bench.isWaiting)
        bench.machine.resume(second.identifier)
        _ = try bench.question()
    }

    @Test("One that is gone without that is begun anew")
    func goneAtEnd() async throws {
        let bench = try await complete()
        let first = try await bench.request()
        var unsent = UploadError(.cannotConnect)
        unsent.mayHaveReachedServer = false
        #expect(bench.machine.receive(.failure(unsent), bytesSent: 0, for: first.identifier).retried != nil)
        bench.machine.resume(first.identifier)
        #expect(bench.answer(try await bench.request(), 404).isProceed)
        try bench.reply("v")
        #expect(bench.tags == [:])
        #expect(bench.machine.confirmedByteCount == 0)
        #expect(try await bench.store().address?.contains("upload=v") == true)
        #expect(try await bench.request().address?.contains("upload=v") == true)
    }

    // MARK: Uploads that are gone

    @Test("An upload that is gone is begun anew, three times at most")
    func gone() async throws {
        let bench = try S3.begun(20 * Self.mib)
        for round in 1...S3MultipartMachine.restartLimit {
            try await bench.store()
            let (second, third) = (try await bench.request(), try await bench.request())
            #expect(bench.answer(second, 404, [:], S3.error("NoSuchUpload")).isProceed)
            #expect(bench.machine.state == nil)
            #expect(bench.machine.confirmedByteCount == 0)
            try bench.reply("u\(round)")
            // Nothing of the old upload counts for the new one.
            #expect(bench.answer(third, 200, ["ETag": "old"]).isProceed)
            #expect(bench.answer(second, 404).isProceed)
            bench.machine.resume(second.identifier)
            #expect(bench.tags == [:])
        }
        let first = try await bench.request()
        #expect(first.part?.lowerBound == 0)
        #expect(first.identifier == 300_001)
        #expect(bench.answer(first, 404).failed?.code == .uploadExpired)
        #expect(bench.machine.state == nil)
        #expect(bench.machine.removal == nil)
        #expect(bench.isWaiting)
        bench.machine.resume(first.identifier)
        _ = try bench.question()
    }

    @Test("A bucket that is gone is not an upload that is")
    func noBucket() async throws {
        let bench = try S3.begun(20 * Self.mib)
        let verdict = bench.answer(try await bench.request(), 404, [:], S3.error("NoSuchBucket"))
        #expect(verdict.failed?.code == .unacceptableStatus)
    }

    @Test("A body without a length is read again for a new upload")
    func goneStream() async throws {
        let bench = S3.bench(nil)
        _ = try bench.read(to: 8 << 20 + 1)
        try bench.reply("u")
        try await bench.store()
        _ = try bench.read(to: 9 << 20, isEnd: true)
        bench.answer(try await bench.request(), 404)
        try bench.reply("v")
        #expect(try bench.read().start == 0)
    }

    // MARK: Interruptions

    @Test("After an interruption only what is not there is sent again")
    func interruption() async throws {
        let bench = try S3.begun(40 * Self.mib) { $0.parallelParts = 3 }
        let sent = [try await bench.request(), try await bench.request(), try await bench.request()]
        bench.answer(sent[1], 200, ["ETag": "b"])
        bench.answer(sent[0], 503)
        let fourth = try await bench.request()
        bench.machine.interrupt(bytesSent: [sent[2].identifier: 5, fourth.identifier: 7])
        #expect(bench.answer(sent[2], 200, ["ETag": "late"]).isProceed)
        bench.machine.resume(sent[0].identifier)
        #expect(bench.tags == [2: "b"])
        let numbers = [try await bench.request(), try await bench.request(), try await bench.request()].map {
            ($0.part?.lowerBound ?? 0) / (8 << 20) + 1
        }
        #expect(numbers == [1, 3, 4])
        // The new one for that part is still under way.
        #expect(bench.answer(sent[2], 200, ["ETag": "late"]).isProceed)
        #expect(bench.tags == [2: "b"])
    }

    @Test("Nothing harms an upload that has ended, or that is told what it has not asked")
    func late() async throws {
        let bench = try await complete()
        let complete = try await bench.request()
        #expect(bench.machine.receive(.answer("v"), bytesSent: 0, for: complete.identifier).isProceed)
        let again = try await bench.request()
        bench.answer(again, 200, [:], S3.done)
        for sent in [complete, again] {
            #expect(bench.answer(sent, 404).isProceed)
            #expect(bench.fail(sent, .timedOut).isProceed)
            bench.machine.resume(sent.identifier)
        }
        #expect(bench.machine.receive(.ready(end: -5, isEnd: true), bytesSent: .min, for: .max).isProceed)
        bench.machine.interrupt(bytesSent: [1: 5])
        bench.machine.receiveInterim(head(100), for: 0)
        #expect(bench.finalStatus == 200)
        #expect(bench.finalStatus == 200)
    }

    @Test("An upload is removed by the request that the app signs, if it does")
    func removal() async throws {
        let bench = try await complete()
        let removal = try #require(bench.machine.removal)
        let request = try await removal.makeRequest()
        #expect(request.httpMethod == "DELETE")
        #expect(request.url?.path == "/abort")
        #expect(try await complete { $0.abort = nil }.machine.removal == nil)
    }

    // MARK: Checkpoints

    @Test("Parts of the checkpoint are not sent again")
    func checkpoint() async throws {
        let bench = S3.bench(20 * Self.mib, state: S3.state([1: "a", 3: "c", 4: "x", 0: "y"]))
        #expect(bench.machine.confirmedByteCount == 12 * Self.mib)
        #expect(bench.tags == [1: "a", 3: "c"])
        #expect(bench.machine.state?.partSize == 8 << 20)
        let second = try await bench.store("b")
        #expect(second.part == (8 * Self.mib)..<(16 * Self.mib))
        #expect(second.address?.contains("upload=u") == true)
        #expect(try await bench.request().method == "POST")

        let whole = S3.bench(8 * Self.mib, state: S3.state([1: "a"]))
        #expect(try await whole.request().method == "POST")
    }

    @Test("The checkpoint says how the body was cut, whatever is asked for now")
    func checkpointPartSize() async throws {
        let state = S3.state([1: "a"], partSize: 6 << 20)
        let bench = S3.bench(20 * Self.mib, state: state) { $0.partSize = 9 << 20 }
        #expect(try await bench.request().part == (6 * Self.mib)..<(12 * Self.mib))
    }

    @Test("A checkpoint that makes no sense is none", arguments: [.min, 0, 5 << 20 - 1, 1 << 62] as [Int64])
    func oddCheckpoint(partSize: Int64) throws {
        _ = try S3.bench(6 << 30, state: S3.state([1: "a"], partSize: partSize)).question()
        _ = try S3.bench(6 << 30, state: ResumptionState(location: "", partSize: 8 << 20)).question()
        _ = try S3.bench(6 << 30, state: ResumptionState()).question()
        #expect(S3.bench(20 << 20, state: S3.state([1: ""])).machine.confirmedByteCount == 0)
    }

    @Test("The server's list counts more than the checkpoint, where the sizes are right")
    func list() async throws {
        let bench = S3.bench(44 * Self.mib, state: S3.state([1: "a", 2: "b", 3: "c"]), S3.listing)
        let list = try await bench.request()
        #expect(list.method == "GET")
        #expect(list.part == nil && list.data == nil)
        #expect(bench.isWaiting)
        bench.answer(
            list,
            200,
            [:],
            S3.list([(1, 8 << 20), (2, 7 << 20), (5, 8 << 20), (6, 4 << 20), (7, 8 << 20), (99_999, 1)])
        )
        #expect(bench.tags == [1: "\"l1\"", 5: "\"l5\"", 6: "\"l6\""])
        #expect(bench.machine.confirmedByteCount == 20 * Self.mib)
        #expect(try await bench.request().part?.lowerBound == 8 << 20)
    }

    @Test("What the server has not is sent again, whatever the checkpoint says")
    func lostParts() async throws {
        let bench = S3.bench(44 * Self.mib, state: S3.state([1: "a", 2: "b"]), S3.listing)
        bench.answer(try await bench.request(), 200, [:], S3.list([(1, 8 << 20)]))
        #expect(bench.tags == [1: "\"l1\""])
    }

    @Test("What is not on the first page of the list is taken from the checkpoint")
    func truncatedList() async throws {
        let bench = S3.bench(44 * Self.mib, state: S3.state([1: "a", 2: "b", 4: "d"]), S3.listing)
        bench.answer(try await bench.request(), 200, [:], S3.list([(1, 8 << 20), (3, 8 << 20)], isTruncated: true))
        #expect(bench.tags == [1: "\"l1\"", 3: "\"l3\"", 4: "d"])
    }

    @Test("A list that breaks off or may come later is waited for, and one for an upload that is gone begins a new one")
    func failedList() async throws {
        let bench = S3.bench(44 * Self.mib, state: S3.state([1: "a"]), S3.listing)
        let list = try await bench.request()
        #expect(bench.answer(list, 200, [:], "<ListPartsResult>").retried?.code == .transferFailed)
        bench.machine.resume(list.identifier)
        #expect(bench.answer(try await bench.request(), 503).retried != nil)
        bench.machine.resume(list.identifier)
        #expect(bench.answer(try await bench.request(), 403).isProceed)
        #expect(bench.answer(try await bench.request(), 403).failed?.code == .unacceptableStatus)
        #expect(bench.machine.state != nil)
        bench.machine.resume(list.identifier)
        #expect(bench.answer(try await bench.request(), 404, [:], S3.error("NoSuchUpload")).isProceed)
        _ = try bench.question()
    }

    @Test(
        "What is no list fails the upload at once, and its parts are left as they are",
        arguments: ["<html></html>", "{}", S3.error("AccessDenied")]
    )
    func noList(body: String) async throws {
        let bench = S3.bench(44 * Self.mib, state: S3.state([1: "a"]), S3.listing)
        let list = try await bench.request()
        let error = try #require(bench.answer(list, 200, [:], body).failed)
        #expect(error.code == (body.contains("Error") ? .unacceptableStatus : .protocolViolation))
        #expect(bench.tags == [1: "a"])
        bench.machine.resume(list.identifier)
        #expect(bench.answer(try await bench.request(), 200, [:], S3.error("SlowDown")).retried != nil)
        bench.machine.resume(list.identifier)
        let other = S3.list([(1, 8 << 20)]).replacing("ListPartsResult", with: "ListPartsResponse")
        #expect(bench.answer(try await bench.request(), 200, [:], other).isProceed)
        #expect(bench.tags == [1: "\"l1\""])
    }

    @Test("Of a body without a length the last part that is there is read again, and not sent")
    func streamCheckpoint() async throws {
        let bench = S3.bench(nil, state: S3.state([1: "a", 2: "b", 4: "d"], partSize: nil))
        #expect(bench.machine.confirmedByteCount == 8 << 20)
        let reading = try bench.read(to: 16 << 20 + 1)
        #expect(reading.start == 8 << 20)
        #expect(reading.count == 8 << 20 + 1)
        #expect(bench.tags == [1: "a", 2: "b"])
        #expect(bench.machine.confirmedByteCount == 16 << 20)
        #expect(try bench.read(to: 17 << 20, isEnd: true).start == 16 << 20)
        #expect(try await bench.store().part == (16 << 20)..<(17 << 20))
        #expect(try await bench.request().method == "POST")
    }

    @Test("The checkpoint says how far parts grow, whatever the memory limit is now")
    func checkpointGrowth() throws {
        var state = S3.state(Dictionary(uniqueKeysWithValues: (1...1001).map { ($0, "t") }), partSize: nil)
        state.partSizeLimit = 10 << 20
        let bench = S3.bench(nil, state: state)
        let last = try bench.read(to: 1000 * (8 << 20) + (10 << 20) + 1)
        #expect(last.start == 1000 * (8 << 20))
        #expect(last.count == 10 << 20 + 1)
        #expect(bench.machine.state?.partSizeLimit == 10 << 20)
        #expect(try bench.read().start == 1000 * (8 << 20) + (10 << 20))
    }

    @Test("It may turn out to be the body's last one", arguments: [9 << 20, 16 << 20] as [Int64])
    func wholeStreamCheckpoint(end: Int64) async throws {
        let bench = S3.bench(nil, state: S3.state([1: "a", 2: "b"], partSize: 8 << 20))
        _ = try bench.read(to: end, isEnd: true)
        #expect(bench.machine.confirmedByteCount == end)
        #expect(try await bench.request().method == "POST")
    }

    @Test("A body without a length that is shorter than what was sent is another one")
    func shorterStream() throws {
        let bench = S3.bench(nil, state: S3.state([1: "a", 2: "b"], partSize: 8 << 20))
        #expect(try bench.read(to: 7 << 20, isEnd: true).verdict?.failed?.code == .bodyLengthMismatch)
        #expect(bench.machine.state == nil)
    }

    @Test("Listed parts of a body without a length count as far as they are whole, and the last one by its size")
    func streamList() async throws {
        let state = S3.state([1: "a", 2: "b", 3: "c"], partSize: 8 << 20)
        for (size, isKept) in [(3, true), (2, false)] as [(Int64, Bool)] {
            let bench = S3.bench(nil, state: state, S3.listing)
            bench.answer(try await bench.request(), 200, [:], S3.list([(1, 8 << 20), (2, size), (3, 8 << 20)]))
            #expect(try bench.read(to: 8 << 20 + 3, isEnd: true).start == 8 << 20)
            #expect(bench.tags?[1] == "\"l1\"")
            #expect((bench.tags?[2] != nil) == isKept)
            #expect(bench.tags?[3] == nil)
            let next = try await bench.request()
            #expect((next.part == nil) == isKept)
            #expect(next.part?.lowerBound ?? (8 << 20) == 8 << 20)
        }
        let none = S3.bench(nil, state: state, S3.listing)
        none.answer(try await none.request(), 200, [:], S3.list([(2, 8 << 20)]))
        #expect(try none.read().start == 0)
    }
}
