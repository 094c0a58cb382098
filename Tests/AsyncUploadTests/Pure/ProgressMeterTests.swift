import Foundation
import Testing

@testable import AsyncUpload

@Suite("What byte counts mean", .timeLimit(.minutes(5)))
struct ProgressMeterTests {
    private let start = ContinuousClock.now

    private func after(_ seconds: Double) -> ContinuousClock.Instant {
        start + .seconds(seconds)
    }

    private func meter(_ totalBytes: Int64?) -> ProgressMeter {
        var meter = ProgressMeter(totalBytes: totalBytes, at: start)
        _ = meter.beginRequest(at: start)
        return meter
    }

    private func isClose(_ value: Double?, _ expected: Double, within tolerance: Double = 1e-9) -> Bool {
        value.map { abs($0 - expected) <= expected * tolerance } ?? false
    }

    @Test("Nothing sent is nothing but the length")
    func beginning() {
        var meter = ProgressMeter(totalBytes: 10, at: start)
        #expect(meter.beginRequest(at: start) == UploadProgress(totalBytes: 10, attempt: 1))
    }

    @Test("The attempt is 1 even before the first request")
    func noRequestYet() {
        var meter = ProgressMeter(totalBytes: 10, at: start)
        #expect(meter.sent(0, at: start).attempt == 1)
    }

    @Test("The fraction is the part of the body that is sent")
    func fraction() {
        var meter = meter(1000)
        #expect(meter.sent(250, at: after(1)).fraction == 0.25)
        #expect(meter.sent(1000, at: after(2)).fraction == 1)
    }

    @Test("A request that starts over keeps the fraction until it has passed it, and tells its own bytes")
    func startingOver() {
        var meter = meter(1000)
        #expect(meter.sent(600, at: after(1)).fraction == 0.6)
        #expect(meter.beginRequest(at: after(2)) == UploadProgress(fraction: 0.6, totalBytes: 1000, attempt: 2))
        let behind = meter.sent(300, at: after(3))
        #expect(behind.fraction == 0.6)
        #expect(behind.bytesSent == 300)
        #expect(meter.sent(601, at: after(4)).fraction == 0.601)
        #expect(meter.beginRequest(at: after(5)).attempt == 3)
    }

    @Test(
        "A count outside the body is taken for its nearest end",
        arguments: [(-5, 0), (1001, 1000), (.max, 1000)] as [(Int64, Int64)]
    )
    func outside(count: Int64, expected: Int64) {
        var meter = meter(1000)
        let progress = meter.sent(count, at: after(1))
        #expect(progress.bytesSent == expected)
        #expect(progress.fraction == Double(expected) / 1000)
    }

    @Test("An empty body is at 0 until it is finished, then at 1")
    func emptyBody() {
        var meter = meter(0)
        #expect(meter.sent(0, at: after(1)).fraction == 0)
        let end = meter.finished(at: after(2))
        #expect(end.fraction == 1)
        #expect(end.bytesSent == 0)
        #expect(end.totalBytes == 0)
    }

    @Test("A body of unknown length is at 0 until it is finished")
    func unknownLength() {
        var meter = meter(nil)
        let middle = meter.sent(500, at: after(1))
        #expect(middle.fraction == 0)
        #expect(middle.bytesSent == 500)
        #expect(isClose(middle.bytesPerSecond, 500))
        #expect(middle.estimatedTimeRemaining == nil)
        #expect(middle.totalBytes == nil)
        let end = meter.finished(at: after(2))
        #expect(end.fraction == 1)
        #expect(end.bytesSent == 500)
    }

    @Test("Finished is all of the body")
    func finished() {
        var meter = meter(1000)
        _ = meter.sent(400, at: after(1))
        let end = meter.finished(at: after(2))
        #expect(end.fraction == 1)
        #expect(end.bytesSent == 1000)
        #expect(end.estimatedTimeRemaining == .zero)
    }

    @Test("The rate leans towards what is new, and the time remaining follows from it")
    func rate() {
        var meter = meter(1000)
        let first = meter.sent(100, at: after(1))
        #expect(isClose(first.bytesPerSecond, 100))
        #expect(isClose(first.estimatedTimeRemaining.map { $0 / .seconds(1) }, 9))
        let second = meter.sent(400, at: after(2))
        // 300 bytes in the last second, 100 in the one before, which weighs 1/e of it.
        let weight: Double = exp(-1)
        let rate = (300 + 100 * weight) / (1 + weight)
        #expect(isClose(second.bytesPerSecond, rate))
        #expect(isClose(second.estimatedTimeRemaining.map { $0 / .seconds(1) }, 600 / rate))
    }

    @Test("A steady rate is told as it is from the beginning, however often it is measured", arguments: [1, 10, 1000])
    func steadyRate(timesPerSecond: Int) {
        var meter = meter(1_000_000)
        for step in 1...(2 * timesPerSecond) {
            let seconds = Double(step) / Double(timesPerSecond)
            let progress = meter.sent(Int64(seconds * 10_000), at: after(seconds))
            #expect(isClose(progress.bytesPerSecond, 10_000, within: 0.15))
        }
    }

    @Test("A pause shows in the rate, and is forgotten")
    func pause() {
        var meter = meter(1_000_000)
        for second in 1...10 { _ = meter.sent(Int64(second) * 1000, at: after(Double(second))) }
        let slow = meter.sent(10_001, at: after(20)).bytesPerSecond
        #expect(slow < 100)
        var rate = slow
        for second in 21...30 { rate = meter.sent(Int64(second - 10) * 1000, at: after(Double(second))).bytesPerSecond }
        #expect((950...1000).contains(rate))
    }

    @Test("Without time there is no rate, and none is lost")
    func noTime() {
        var meter = meter(1000)
        let none = meter.sent(100, at: start)
        #expect(none.bytesPerSecond == 0)
        #expect(none.estimatedTimeRemaining == nil)
        #expect(isClose(meter.sent(200, at: after(1)).bytesPerSecond, 200))
        #expect(isClose(meter.sent(300, at: after(0.5)).bytesPerSecond, 200))
    }

    @Test("Every request has a rate of its own")
    func rateOfEachRequest() {
        var meter = meter(1000)
        _ = meter.sent(900, at: after(1))
        let again = meter.beginRequest(at: after(10))
        #expect(again.bytesPerSecond == 0)
        #expect(again.estimatedTimeRemaining == nil)
        #expect(isClose(meter.sent(100, at: after(11)).bytesPerSecond, 100))
    }

    @Test("A count that goes back inside a request does not make the rate negative")
    func backwards() {
        var meter = meter(1000)
        #expect(isClose(meter.sent(800, at: after(1)).bytesPerSecond, 800))
        let back = meter.sent(100, at: after(2))
        #expect(isClose(back.bytesPerSecond, 800))
        #expect(back.fraction == 0.8)
        #expect(back.bytesSent == 100)
    }

    @Test("A time remaining beyond all reason is not told")
    func endless() {
        var meter = meter(.max)
        #expect(meter.sent(1, at: after(1e6)).estimatedTimeRemaining == nil)
        var standing = self.meter(1000)
        #expect(standing.sent(0, at: after(1)).estimatedTimeRemaining == nil)
    }

    @Test("Whatever comes in, it stays finite and goes forward", arguments: 1...50 as ClosedRange<UInt64>)
    func anything(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let lengths: [Int64?] = [nil, 0, 1, 1000, 5 << 30, .max]
        let total = lengths[Int.random(in: 0..<lengths.count, using: &random)]
        var meter = ProgressMeter(totalBytes: total, at: start)
        var (now, fraction, attempt, sent) = (0.0, 0.0, 1, Int64(0))
        for _ in 0..<300 {
            now += [0, 1e-9, 0.001, 3, 1e6][Int.random(in: 0..<5, using: &random)]
            let progress: UploadProgress
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                sent = 0
                progress = meter.beginRequest(at: after(now))
            case 1: progress = meter.sent(Int64.random(in: .min ... .max, using: &random), at: after(now))
            default:
                sent = sent.addingReportingOverflow(Int64.random(in: 0...(1 << 40), using: &random)).partialValue
                progress = meter.sent(sent, at: after(now))
            }
            #expect((0...1).contains(progress.fraction))
            #expect(progress.fraction >= fraction)
            #expect(progress.attempt >= attempt)
            #expect((0...(total ?? .max)).contains(progress.bytesSent))
            #expect(progress.bytesPerSecond.isFinite && progress.bytesPerSecond >= 0)
            #expect(progress.estimatedTimeRemaining ?? .zero >= .zero)
            (fraction, attempt) = (progress.fraction, progress.attempt)
        }
        #expect(meter.finished(at: after(now)).fraction == 1)
    }
}
