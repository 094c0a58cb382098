import Foundation
import Testing

@testable import AsyncUpload

@Suite("Which byte counts are worth an event", .timeLimit(.minutes(5)))
struct ProgressGateTests {
    private let start = SuspendingClock.now

    private func later(_ milliseconds: Int) -> SuspendingClock.Instant {
        start + .milliseconds(milliseconds)
    }

    @Test("The first count passes, whatever it is", arguments: [0, 1, 5000])
    func first(count: Int64) {
        var gate = ProgressGate(total: 1_000_000)
        #expect(gate.passes(count, at: start) == true)
    }

    @Test("The same count does not pass twice, however late")
    func same() {
        var gate = ProgressGate(total: 1000)
        #expect(gate.passes(7, at: start) == true)
        #expect(gate.passes(7, at: later(10_000)) == false)
    }

    @Test("The last count passes at once, and once only")
    func last() {
        var gate = ProgressGate(total: 1_000_000)
        #expect(gate.passes(999_999, at: start) == true)
        #expect(gate.passes(1_000_000, at: start) == true)
        #expect(gate.passes(1_000_000, at: later(60)) == false)
    }

    @Test("Half a percent is the step")
    func step() {
        var gate = ProgressGate(total: 2000)
        #expect(gate.passes(0, at: start) == true)
        #expect(gate.passes(9, at: start) == false)
        #expect(gate.passes(10, at: start) == true)
        #expect(gate.passes(19, at: start) == false)
        #expect(gate.passes(20, at: start) == true)
    }

    @Test("Of a body under 200 bytes every byte counts")
    func smallBody() {
        var gate = ProgressGate(total: 5)
        #expect((0...5).allSatisfy { gate.passes($0, at: start) })
    }

    @Test("After 50 ms one byte is enough")
    func interval() {
        var gate = ProgressGate(total: 1_000_000)
        #expect(gate.passes(0, at: start) == true)
        #expect(gate.passes(1, at: later(49)) == false)
        #expect(gate.passes(2, at: later(50)) == true)
        // What did not pass does not count as told, what did pass does.
        #expect(gate.passes(3, at: later(99)) == false)
        #expect(gate.passes(3, at: later(100)) == true)
    }

    @Test("A body that starts over is told at once")
    func backwards() {
        var gate = ProgressGate(total: 1_000_000)
        #expect(gate.passes(500_000, at: start) == true)
        #expect(gate.passes(0, at: start) == true)
        #expect(gate.passes(10, at: start) == false)
    }

    @Test("Without a length only time counts")
    func unknownLength() {
        var gate = ProgressGate(total: nil)
        #expect(gate.passes(0, at: start) == true)
        #expect(gate.passes(1_000_000_000, at: later(49)) == false)
        #expect(gate.passes(1_000_000_000, at: later(50)) == true)
    }

    @Test(
        "However it is sent, there are few events, and the last one is there",
        arguments: 1...20 as ClosedRange<UInt64>
    )
    func bounded(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let total = Int64.random(in: 1...10_000_000, using: &random)
        var gate = ProgressGate(total: total)
        var (sent, now, passed): (Int64, Int, [Int64]) = (0, 0, [])
        while true {
            if gate.passes(sent, at: later(now)) { passed.append(sent) }
            guard sent < total else { break }
            sent = min(total, sent + Int64.random(in: 1...max(1, total / 1000), using: &random))
            now += Int.random(in: 0...3, using: &random)
        }
        #expect(passed.last == total)
        #expect(passed.count <= 200 + now / 50 + 2)
        #expect(passed == passed.sorted())
    }
}
