import Testing

@testable import AsyncUpload

@Suite("Who waits for the end of a pause, or of a delay of its own", .timeLimit(.minutes(5)))
struct AdmissionPauseTests {
    private let time = ManualClock()

    /// A queue with one ticket that was refused and stepped aside.
    private func pausedQueue(
        limit: Int = 1,
        for delay: Duration
    ) -> (queue: AdmissionQueue, refused: AdmissionQueue.Ticket) {
        let queue = AdmissionQueue(limit: limit, clock: time.clock)
        let ticket = queue.enter(host: "a")
        queue.refused(ticket, delay: delay)
        queue.stepAside(ticket)
        return (queue, ticket)
    }

    @Test("The end of a pause wakes those who wait for it, and not before")
    func end() async throws {
        let (queue, _) = pausedQueue(for: .seconds(5))
        let ticket = queue.enter(host: "a")
        let waiting = Task { try await queue.admission(of: ticket) }
        try await eventually { time.alarms == [.seconds(5)] }
        time.advance(by: .milliseconds(4999))
        for _ in 0..<20 { await Task.yield() }
        #expect(queue.counts == (0, 1))
        time.advance(by: .milliseconds(1))
        try await waiting.value
        #expect(queue.counts == (1, 0))
        #expect(time.alarms == [])
        #expect(time.total == 1)
    }

    @Test("Nobody sleeps when nobody waits for the end of a pause")
    func noAlarm() async throws {
        let (queue, refused) = pausedQueue(limit: 2, for: .seconds(5))
        _ = queue.enter(host: "b")
        for _ in 0..<50 { await Task.yield() }
        #expect(time.total == 0)
        queue.rejoin(refused)
        try await eventually { time.alarms == [.seconds(5)] }
        queue.leave(refused)
        try await eventually { time.cancelled == 1 }
        #expect(time.alarms == [])
    }

    @Test("One task at a time sleeps, until the earliest end")
    func oneAlarm() async throws {
        let queue = AdmissionQueue(limit: 100, clock: time.clock)
        let delays = [7, 3, 9, 1, 5]
        for delay in delays {
            let ticket = queue.enter(host: "\(delay)")
            queue.refused(ticket, delay: .seconds(delay))
            queue.leave(ticket)
            _ = queue.enter(host: "\(delay)")
        }
        var earliest = delays.sorted()
        try await eventually { time.alarms == [.seconds(1)] }
        while !earliest.isEmpty {
            #expect(queue.counts == (5 - earliest.count, earliest.count))
            time.advance(by: .seconds(earliest.removeFirst()) - (time.now - time.start))
            try await eventually { time.alarms == earliest.prefix(1).map { .seconds($0) } }
            try await eventually { queue.counts == (5 - earliest.count, earliest.count) }
        }
    }

    @Test("A sleep that ends too early is followed by another, and the pause stays as long as it is")
    func earlyEnd() async throws {
        let (queue, _) = pausedQueue(for: .seconds(5))
        let ticket = queue.enter(host: "a")
        for total in 1...3 {
            try await eventually { time.alarms == [.seconds(5)] }
            #expect(time.total == total)
            time.wakeEarly()
        }
        try await eventually { time.total == 4 && time.alarms == [.seconds(5)] }
        #expect(!queue.isAdmitted(ticket))
        time.advance(by: .seconds(5))
        try await queue.admission(of: ticket)
    }

    @Test("A pause does not keep the queue alive, and nobody sleeps on after it")
    func lifetime() async throws {
        weak var queue: AdmissionQueue?
        do {
            let (paused, _) = pausedQueue(for: .seconds(1_000_000))
            queue = paused
            _ = paused.enter(host: "a")
            try await eventually { time.alarms.count == 1 }
        }
        #expect(queue == nil)
        try await eventually { time.alarms.isEmpty }
        #expect(time.cancelled == 1)
    }

    @Test("With the clock of the system, a pause is as long as it should be")
    func systemClock() async throws {
        let queue = AdmissionQueue(limit: 1)
        let start = ContinuousClock.now
        let ticket = queue.enter()
        queue.refused(ticket, delay: .milliseconds(100))
        queue.stepAside(ticket)
        queue.rejoin(ticket)
        #expect(!queue.isAdmitted(ticket))
        try await queue.admission(of: ticket)
        #expect(ContinuousClock.now - start >= .milliseconds(100))
        // Far beyond what timers can count; whoever waits can still be cancelled.
        queue.refused(ticket, delay: .seconds(Int64.max))
        queue.stepAside(ticket)
        queue.rejoin(ticket)
        let waiting = Task { try await queue.admission(of: ticket) }
        try await Task.sleep(for: .milliseconds(20))
        #expect(queue.counts == (0, 1))
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(queue.counts == (0, 0))
    }

    @Test("Who stepped aside is woken before those who came later")
    func rejoining() async throws {
        let queue = AdmissionQueue(limit: 1, clock: time.clock)
        let (first, second, third) = (queue.enter(), queue.enter(), queue.enter())
        queue.stepAside(first)
        try await queue.admission(of: second)
        queue.rejoin(first)
        let waiting = Task { try await queue.admission(of: first) }
        queue.leave(second)
        try await waiting.value
        #expect(!queue.isAdmitted(third))
    }

    @Test("Who waits before it has come back from aside is woken when it is let in")
    func waitingAside() async throws {
        let queue = AdmissionQueue(limit: 1, clock: time.clock)
        let ticket = queue.enter()
        queue.stepAside(ticket)
        let waiting = Task { try await queue.admission(of: ticket) }
        for _ in 0..<20 { await Task.yield() }
        queue.rejoin(ticket)
        try await waiting.value
        #expect(queue.counts == (1, 0))
    }

    @Test(
        "Who is cancelled while it is aside, or waits again, gets CancellationError and is passed over",
        arguments: [0, 1, 2]
    )
    func cancelledAside(moment: Int) async throws {
        let queue = AdmissionQueue(limit: 1, clock: time.clock)
        let (first, second) = (queue.enter(), queue.enter())
        queue.stepAside(first)
        let mayGo = Gate()
        let upload = Task {
            await mayGo.wait()
            if moment > 0 { queue.rejoin(first) }
            try await queue.admission(of: first)
        }
        // Aside and not asking yet, aside and asking, or waiting again.
        if moment < 2 { upload.cancel() }
        mayGo.open()
        if moment == 2 {
            try await eventually { queue.counts == (1, 1) }
            for _ in 0..<20 { await Task.yield() }
            upload.cancel()
        }
        await #expect(throws: CancellationError.self) { try await upload.value }
        #expect(queue.counts == (1, 0))
        queue.rejoin(first)
        queue.leave(second)
        #expect(queue.counts == (0, 0))
        queue.leave(first)
        #expect(queue.counts == (0, 0))
    }

    @Test("Who is cancelled in a pause gets CancellationError at once")
    func cancelledInPause() async throws {
        let (queue, refused) = pausedQueue(for: .seconds(5))
        queue.rejoin(refused)
        let waiting = Task { try await queue.admission(of: refused) }
        try await eventually { time.alarms.count == 1 }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(queue.counts == (0, 0))
        try await eventually { time.alarms.isEmpty }
    }

    @Test("What is accepted gives places back")
    func acceptance() async throws {
        let queue = AdmissionQueue(limit: 2, clock: time.clock)
        let (first, second) = (queue.enter(host: "a"), queue.enter(host: "a"))
        queue.refused(first, delay: .zero)
        queue.stepAside(first)
        queue.rejoin(first)
        let waiting = Task { try await queue.admission(of: first) }
        #expect(queue.counts == (1, 1))
        for _ in 0..<4 { queue.accepted(second) }
        try await waiting.value
        #expect(queue.counts == (2, 0))
    }
}
