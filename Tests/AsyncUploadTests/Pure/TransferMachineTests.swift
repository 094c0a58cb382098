import Foundation
import Testing

@testable import AsyncUpload

@Suite("What one exchange does next", .timeLimit(.minutes(5)))
struct TransferMachineTests {
    private let start = TransferMachine.Instant.now

    private struct Reason: Error, Equatable {
        var text = "ours"
    }

    private func machine(_ bodyLength: Int64? = 1000, limit: Int = 100, method: String? = "PUT") -> TransferMachine {
        TransferMachine(
            body: .length(bodyLength),
            responseBodyLimit: limit,
            method: method,
            limits: TimeLimits(
                connection: .seconds(5),
                stall: .seconds(10),
                response: .seconds(20),
                total: .seconds(1000)
            ),
            at: start
        )
    }

    /// The effects in a form that can be compared.
    private func words(_ effects: TransferMachine.Effects) -> [String] {
        let events = effects.events.map { event in
            switch event {
            case .sent(let count): "sent \(count)"
            case .bodyEnd: "body end"
            case .interim(let head): "interim \(head.statusCode)"
            case .head(let head): "head \(head.statusCode)"
            case .data(let data): "data \(data.count)"
            case .connection: "connection"
            }
        }
        let error = effects.error.map {
            ($0 as? UploadError)?.code.description ?? "\($0 as? Reason ?? Reason(text: "?"))"
        }
        return events + (effects.stops ? ["stops"] : []) + (effects.ends ? ["ends"] : []) + (error.map { [$0] } ?? [])
    }

    @Test("An exchange in order")
    func inOrder() {
        var machine = machine()
        #expect(words(machine.didSend(500, at: start)) == ["sent 500"])
        #expect(words(machine.didReceive(head(100))) == ["interim 100"])
        #expect(words(machine.didSend(1000, at: start)) == ["sent 1000", "body end"])
        #expect(words(machine.didReceive(head(104))) == ["interim 104"])
        #expect(words(machine.didReceive(head(200))) == ["head 200"])
        #expect(words(machine.didReceive(bytes(10))) == ["data 10"])
        #expect(words(machine.didReceive(bytes(90))) == ["data 90"])
        #expect(words(machine.didComplete(nil, lastHead: head(200))) == ["ends"])
    }

    @Test("Byte counts are thinned out and never go past the length")
    func sent() {
        var machine = machine(100_000)
        #expect(words(machine.didSend(0, at: start)) == ["sent 0"])
        #expect(words(machine.didSend(100, at: start)) == [])
        #expect(words(machine.didSend(100_500, at: start)) == ["sent 100000", "body end"])
        #expect(words(machine.didSend(200_000, at: start + .seconds(1))) == [])
    }

    @Test("Bytes that go out after the answer still count")
    func sentAfterHead() {
        var machine = machine()
        #expect(words(machine.didReceive(head(200))) == ["head 200"])
        #expect(words(machine.didSend(1000, at: start)) == ["sent 1000", "body end"])
        #expect(words(machine.didComplete(nil, lastHead: nil)) == ["ends"])
    }

    @Test("Whatever comes after the end is ignored, however it ended", arguments: [true, false])
    func afterTheEnd(fails: Bool) {
        var machine = machine()
        _ = machine.didReceive(head(200))
        #expect(words(machine.didComplete(fails ? Reason() : nil, lastHead: nil)).first == "ends")
        #expect(words(machine.didSend(1, at: start)) == [])
        #expect(words(machine.didReceive(head(200))) == [])
        #expect(words(machine.didReceive(head(100))) == [])
        #expect(words(machine.didReceive(bytes(1000))) == [])
        #expect(words(machine.fail(Reason())) == [])
        #expect(words(machine.didComplete(Reason(), lastHead: head(500))) == [])
    }

    @Test("A head that was not reported when it came is told at the end")
    func lastHead() {
        var machine = machine()
        #expect(words(machine.didComplete(nil, lastHead: head(401))) == ["head 401", "ends"])
    }

    @Test("An end without a final head is a lost connection", arguments: [nil, 100, 103, 199])
    func noHead(status: Int?) {
        var machine = machine()
        if let status { _ = machine.didReceive(head(status)) }
        let end = machine.didComplete(nil, lastHead: status.map { head($0) })
        #expect(words(end) == ["ends", "connectionLostBeforeBody"])
    }

    @Test("What the library says went wrong is told")
    func libraryError() {
        var machine = machine()
        #expect(words(machine.didReceive(head(200))) == ["head 200"])
        #expect(words(machine.didComplete(UploadError(.timedOut), lastHead: head(200))) == ["ends", "timedOut"])
    }

    @Test("Our own reason beats the library's, the first one the second, and nothing is told in between")
    func ownReason() {
        var machine = machine()
        #expect(words(machine.fail(UploadError(.fileChanged))) == ["stops"])
        #expect(words(machine.fail(Reason())) == [])
        #expect(words(machine.didReceive(head(200))) == [])
        #expect(words(machine.didReceive(bytes(1))) == [])
        let end = machine.didComplete(UploadError(.transferFailed), lastHead: head(200))
        #expect(words(end) == ["ends", "fileChanged"])
    }

    @Test("Our own reason counts even if the library is content")
    func ownReasonAlone() {
        var machine = machine()
        _ = machine.fail(CancellationError())
        #expect(machine.didComplete(nil, lastHead: head(200)).error is CancellationError)
    }

    @Test("A response that announces too much is stopped at its head")
    func announcedTooLarge() {
        var machine = machine()
        #expect(words(machine.didReceive(head(200, ["Content-Length": "101"]))) == ["head 200", "stops"])
        #expect(words(machine.didReceive(bytes(10))) == [])
        #expect(words(machine.didComplete(Reason(), lastHead: nil)) == ["ends", "responseTooLarge"])
    }

    @Test("A response that just fits is taken in")
    func fits() {
        var machine = machine()
        #expect(words(machine.didReceive(head(200, ["Content-Length": "100"]))) == ["head 200"])
        #expect(words(machine.didReceive(bytes(100))) == ["data 100"])
        #expect(words(machine.didComplete(nil, lastHead: nil)) == ["ends"])
    }

    @Test("A response that turns out too large is stopped there")
    func tooLarge() {
        var machine = machine()
        _ = machine.didReceive(head(200))
        #expect(words(machine.didReceive(bytes(100))) == ["data 100"])
        #expect(words(machine.didReceive(bytes(1))) == ["stops"])
        #expect(words(machine.didReceive(bytes(1))) == [])
        #expect(words(machine.didComplete(nil, lastHead: nil)) == ["ends", "responseTooLarge"])
    }

    @Test("The length that answers HEAD is not that of a body")
    func headMethod() {
        var machine = machine(0, method: "HEAD")
        #expect(words(machine.didReceive(head(200, ["Content-Length": "1000000"]))).last == "head 200")
        #expect(words(machine.didComplete(nil, lastHead: nil)) == ["ends"])
    }

    @Test("A length repeated is one length (RFC 9112 §6.3)", arguments: ["5", "5, 5", "5,5,5", " 5 , 5 "])
    func repeated(value: String) {
        var machine = machine()
        #expect(words(machine.didReceive(head(200, ["Content-Length": value]))) == ["head 200"])
        #expect(words(machine.didComplete(nil, lastHead: nil)) == ["ends"])
    }

    @Test("A length that is none makes the response unreadable", arguments: malformed)
    func malformedLength(value: String) {
        var machine = machine()
        #expect(words(machine.didReceive(head(200, ["Content-Length": value]))) == ["head 200"])
        #expect(words(machine.didReceive(bytes(3))) == ["data 3"])
        #expect(words(machine.didComplete(nil, lastHead: nil)) == ["ends", "responseUnreadable"])
    }

    private static let malformed = ["5, 6", "x", "-5", "5x", ",", "0x5", "99999999999999999999", "5;5"]

    @Test("A length has no sign (RFC 9110 §8.6)", arguments: ["+5", "-0"])
    func signedLength(value: String) {
        var machine = machine()
        _ = machine.didReceive(head(200, ["Content-Length": value]))
        #expect(words(machine.didComplete(nil, lastHead: nil)) == ["ends", "responseUnreadable"])
    }

    @Test("A head that was not reported when it came is examined, too")
    func malformedLastHead() {
        var machine = machine()
        let end = machine.didComplete(nil, lastHead: head(200, ["Content-Length": "x"]))
        #expect(words(end).suffix(2) == ["ends", "responseUnreadable"])
    }

    @Test(
        "In every order of callbacks there is one end and nothing after it",
        arguments: 1...200 as ClosedRange<UInt64>
    )
    func anyOrder(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var machine = machine()
        var ends = 0
        for _ in 0..<30 {
            let effects =
                switch Int.random(in: 0..<8, using: &random) {
                case 0: machine.didSend(.random(in: 0...2000, using: &random), at: start)
                case 1: machine.didReceive(head([100, 104, 200, 307, 401, 500].randomElement(using: &random) ?? 200))
                case 2:
                    machine.didReceive(
                        head(200, ["Content-Length": ["5", "101", "x"].randomElement(using: &random) ?? ""])
                    )
                case 3: machine.didReceive(bytes(.random(in: 0...60, using: &random)))
                case 4: machine.fail(Reason())
                case 5: machine.didComplete(nil, lastHead: Bool.random(using: &random) ? head(200) : nil)
                case 6: machine.didComplete(UploadError(.transferFailed), lastHead: nil)
                default: machine.didSend(1000, at: start)
                }
            if ends > 0 { #expect(words(effects) == []) }
            if effects.ends { ends += 1 }
            #expect(effects.error == nil || effects.ends)
        }
        _ = machine.didComplete(nil, lastHead: nil)
        #expect(ends <= 1)
        #expect(words(machine.didComplete(nil, lastHead: head(200))) == [])
    }

    // MARK: Time

    /// What a machine says at a moment, in words.
    private func words(_ machine: inout TransferMachine, at seconds: Double) -> [String] {
        guard machine.didPass(start + .seconds(seconds)).stops else { return [] }
        return words(machine.didComplete(URLError(.cancelled), lastHead: nil))
    }

    @Test("Nothing may stand still for longer than the limit while the body is sent")
    func stall() {
        var machine = machine()
        _ = machine.didSend(1, at: start + .seconds(4))
        #expect(words(&machine, at: 13.9) == [])
        // The same count again is no movement.
        _ = machine.didSend(1, at: start + .seconds(13))
        #expect(words(&machine, at: 14) == ["ends", "stalled"])
        #expect(words(machine.didPass(start + .seconds(100))) == [])
    }

    @Test("What the peer's system takes in is movement, too")
    func unacknowledgedBytes() {
        var machine = machine()
        _ = machine.didSend(1000, at: start)
        machine.didSee(unacknowledged: 900, at: start + .seconds(1))
        machine.didSee(unacknowledged: 800, at: start + .seconds(10))
        machine.didSee(unacknowledged: 800, at: start + .seconds(19))
        #expect(words(&machine, at: 19.9) == [])
        #expect(words(&machine, at: 20) == ["ends", "stalled"])
    }

    @Test("The wait for the response begins when the peer's system has the whole body, and has a limit of its own")
    func responseLimit() {
        var machine = machine()
        _ = machine.didSend(1000, at: start)
        machine.didSee(unacknowledged: 900, at: start + .seconds(1))
        machine.didSee(unacknowledged: 0, at: start + .seconds(10))
        #expect(words(&machine, at: 29.9) == [])
        #expect(words(&machine, at: 30) == ["ends", "timedOut"])
    }

    @Test("A connection has a limit of its own")
    func connectionLimit() {
        var machine = machine()
        #expect(words(&machine, at: 4.9) == [])
        #expect(words(&machine, at: 5) == ["ends", "timedOut"])
    }

    @Test("There is a connection once a request can be sent, its body is wanted, a byte is gone or a head there")
    func connected() {
        for connect: (inout TransferMachine) -> Void in [
            { $0.didConnect(at: start) }, { _ = $0.didSend(1, at: start) }, { _ = $0.didReceive(head(103), at: start) },
        ] {
            var machine = machine()
            connect(&machine)
            #expect(words(&machine, at: 9.9) == [])
            #expect(words(&machine, at: 10) == ["ends", "stalled"])
        }
    }

    @Test("The wait for whoever makes the body does not count")
    func waitingForBody() {
        var machine = machine(nil)
        _ = machine.didRunOutOfBody(at: start)
        #expect(words(&machine, at: 500) == [])
        _ = machine.didSend(1, at: start + .seconds(500))
        #expect(words(&machine, at: 509.9) == [])
        #expect(words(&machine, at: 510) == ["ends", "stalled"])
    }

    @Test("What was held back is told when there is nothing more to send for now")
    func toldBeforeWaiting() {
        var machine = machine(nil)
        _ = machine.didSend(500, at: start)
        #expect(words(machine.didSend(700, at: start)) == [])
        #expect(words(machine.didRunOutOfBody(at: start)) == [])
        #expect(words(machine.didPass(start + .milliseconds(60))) == ["sent 700"])
        #expect(words(machine.didPass(start + .milliseconds(200))) == [])
    }

    @Test("C04: all but the last byte is told only when the last one is late")
    func lastByte() {
        var machine = machine(10)
        #expect(words(machine.didSend(9, at: start)) == [])
        #expect(words(machine.didRunOutOfBody(at: start)) == [])
        var late = machine
        #expect(words(machine.didSend(10, at: start)) == ["sent 10", "body end"])
        #expect(words(late.didPass(start + .milliseconds(250))) == ["sent 9"])
        #expect(words(late.didSend(10, at: start + .seconds(1))) == ["sent 10", "body end"])
    }

    @Test("After a refusal the body is not waited for any more: what stands still then has stalled")
    func refusalWhileWaiting() {
        var machine = machine(nil)
        _ = machine.didRunOutOfBody(at: start)
        _ = machine.didReceive(head(413), at: start)
        #expect(words(&machine, at: 9.9) == [])
        #expect(words(&machine, at: 10) == ["ends", "stalled"])
    }

    @Test("What begins anew has sent nothing, and is not connected")
    func beginsAnew() {
        var machine = machine()
        _ = machine.didSend(1000, at: start)
        #expect(words(machine.didBeginAnew(at: start)) == ["sent 0"])
        #expect(words(&machine, at: 5) == ["ends", "timedOut"])
    }

    @Test("Where connections are not reported, a request without bytes has the longer of two limits")
    func silentRequest() {
        var machine = machine(0)
        #expect(words(&machine, at: 19.9) == [])
        #expect(words(&machine, at: 20) == ["ends", "timedOut"])
    }

    @Test("What went before counts in the limit for everything, which is told as it was set")
    func elapsed() {
        var machine = TransferMachine(
            body: .length(10),
            responseBodyLimit: 100,
            method: "PUT",
            limits: TimeLimits(
                connection: .seconds(100),
                stall: .seconds(100),
                response: .seconds(100),
                total: .seconds(9),
                elapsed: .seconds(6)
            ),
            at: start
        )
        #expect(!machine.didPass(start + .seconds(2.9)).stops)
        #expect(machine.didPass(start + .seconds(3)).stops)
        let error = machine.didComplete(nil, lastHead: nil).error as? UploadError
        #expect(error?.detail == "no end within 9.0 seconds")
    }

    @Test("Everything together has a limit, whatever is waited for")
    func totalLimit() {
        var machine = machine(nil)
        _ = machine.didRunOutOfBody(at: start)
        #expect(words(&machine, at: 999.9) == [])
        #expect(words(&machine, at: 1000) == ["ends", "timedOut"])
    }

    @Test("What is received is movement, too")
    func receivingIsMovement() {
        var machine = machine(0)
        _ = machine.didReceive(head(103), at: start + .seconds(4))
        #expect(words(&machine, at: 23.9) == [])
        _ = machine.didReceive(head(200), at: start + .seconds(23))
        #expect(words(&machine, at: 32.9) == [])
        _ = machine.didReceive(bytes(1), at: start + .seconds(32))
        #expect(words(&machine, at: 41.9) == [])
        #expect(words(&machine, at: 42) == ["ends", "stalled"])
    }

    // MARK: Bodies of unknown length

    @Test("The end of an empty body is told with the head, if nothing was told before; without a body there is none")
    func emptyBody() {
        var (silent, told) = (machine(0), machine(0))
        #expect(words(silent.didReceive(head(200))) == ["body end", "head 200"])
        #expect(words(silent.didSend(0, at: start)) == ["sent 0", "body end"])
        #expect(words(told.didSend(0, at: start)) == ["sent 0", "body end"])
        #expect(words(told.didReceive(head(200))) == ["head 200"])
    }

    @Test("The end of a body of unknown length is told once")
    func unknownLength() {
        var machine = machine(nil)
        #expect(words(machine.didSend(500, at: start)) == ["sent 500"])
        #expect(words(machine.didSend(700, at: start)) == [])
        #expect(words(machine.didSendAll(at: start)) == ["sent 700", "body end"])
        #expect(words(machine.didSendAll(at: start)) == [])
        #expect(words(machine.didReceive(head(200))) == ["head 200"])
        #expect(words(machine.didComplete(nil, lastHead: nil)) == ["ends"])
    }

    @Test("A body that is sent anew has its end told anew, though the count is the same")
    func unknownLengthAnew() {
        var machine = machine(nil)
        _ = machine.didSend(500, at: start)
        #expect(words(machine.didSendAll(at: start)) == ["sent 500", "body end"])
        #expect(words(machine.didSend(500, at: start)) == [])
        #expect(words(machine.didSendAll(at: start)) == ["sent 500", "body end"])
    }

    @Test("When a connection was lost is told", arguments: [nil, 1000] as [Int64?])
    func whenItWasLost(length: Int64?) {
        let lost = UploadError(.connectionLostDuringBody)
        var (before, during, after) = (machine(length), machine(length), machine(length))
        _ = during.didSend(1, at: start)
        _ = after.didSend(1000, at: start)
        if length == nil { _ = after.didSendAll(at: start) }
        #expect(words(before.didComplete(lost, lastHead: nil)) == ["ends", "connectionLostBeforeBody"])
        #expect(words(during.didComplete(lost, lastHead: nil)) == ["ends", "connectionLostDuringBody"])
        #expect(words(after.didComplete(lost, lastHead: nil)) == ["ends", "connectionLostAfterBody"])
    }
}

extension TransferMachine {
    fileprivate mutating func didReceive(_ head: ResponseHead) -> Effects {
        didReceive(head, at: .now)
    }

    fileprivate mutating func didReceive(_ data: Data) -> Effects {
        didReceive(data, at: .now)
    }
}
