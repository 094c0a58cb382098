import Testing

@testable import AsyncUpload

@Suite("Who may go when", .timeLimit(.minutes(5)))
struct AdmissionQueueTests {
    @Test("As many as the limit says are let in at once, the others wait", arguments: [1, 2, 7])
    func limit(limit: Int) async throws {
        let queue = AdmissionQueue(limit: limit)
        let tickets = (0..<10).map { _ in queue.enter() }
        #expect(queue.counts == (limit, 10 - limit))
        for ticket in tickets.prefix(limit) { try await queue.admission(of: ticket) }
        queue.leave(tickets[0])
        try await queue.admission(of: tickets[limit])
        #expect(queue.counts == (limit, 9 - limit))
    }

    @Test("A limit below one is one", arguments: [0, -3])
    func noLimit(limit: Int) async throws {
        let queue = AdmissionQueue(limit: limit)
        try await queue.admission(of: queue.enter())
        _ = queue.enter()
        #expect(queue.counts == (1, 1))
    }

    @Test("First come, first served: the order is that of enter(), not that of the tasks")
    func order() async throws {
        let queue = AdmissionQueue(limit: 1)
        let first = queue.enter()
        let tickets = (0..<50).map { _ in queue.enter() }
        let order = Locked<[Int]>([])
        // The last ticket is waited for first.
        let tasks = tickets.enumerated().reversed().map { number, ticket in
            Task {
                try await queue.admission(of: ticket)
                order.withLock { $0.append(number) }
                queue.leave(ticket)
            }
        }
        queue.leave(first)
        for task in tasks { try await task.value }
        #expect(order.withLock { $0 } == Array(0..<50))
        #expect(queue.counts == (0, 0))
    }

    @Test("Who is cancelled while it waits gets CancellationError and is passed over", arguments: [true, false])
    func cancelled(isWaiting: Bool) async throws {
        let queue = AdmissionQueue(limit: 1)
        let (first, second, third) = (queue.enter(), queue.enter(), queue.enter())
        let mayWait = Gate()
        let waiting = Task {
            await mayWait.wait()
            try await queue.admission(of: second)
        }
        if isWaiting {
            mayWait.open()
            for _ in 0..<20 { await Task.yield() }
        }
        waiting.cancel()
        mayWait.open()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(queue.counts == (1, 1))
        queue.leave(second)
        #expect(queue.counts == (1, 1))
        queue.leave(first)
        try await queue.admission(of: third)
        #expect(queue.counts == (1, 0))
    }

    @Test("Who has been let in stays in when it is cancelled")
    func cancelledInside() async throws {
        let queue = AdmissionQueue(limit: 1)
        let ticket = queue.enter()
        let mayAsk = Gate()
        let asking = Task {
            await mayAsk.wait()
            try await queue.admission(of: ticket)
        }
        asking.cancel()
        mayAsk.open()
        try await asking.value
        #expect(queue.counts == (1, 0))
    }

    @Test("Leaving while waiting wakes the one who waits")
    func leavingWhileWaiting() async throws {
        let queue = AdmissionQueue(limit: 1)
        let (first, second, third) = (queue.enter(), queue.enter(), queue.enter())
        let waiting = Task { try await queue.admission(of: second) }
        for _ in 0..<20 { await Task.yield() }
        queue.leave(second)
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await #expect(throws: CancellationError.self) { try await queue.admission(of: second) }
        #expect(queue.counts == (1, 1))
        queue.leave(first)
        try await queue.admission(of: third)
    }

    @Test("Leaving twice frees one place")
    func leavingTwice() {
        let queue = AdmissionQueue(limit: 1)
        let (first, second, third) = (queue.enter(), queue.enter(), queue.enter())
        queue.leave(first)
        queue.leave(first)
        #expect(queue.counts == (1, 1))
        queue.leave(second)
        #expect(queue.counts == (1, 0))
        queue.leave(third)
        queue.leave(third)
        #expect(queue.counts == (0, 0))
    }

    @Test("A ticket that was let in and never asked for gives its place back when it is left")
    func abandoned() async throws {
        let queue = AdmissionQueue(limit: 1)
        let (first, second, third) = (queue.enter(), queue.enter(), queue.enter())
        queue.leave(first)
        // The second is in without anybody waiting for it.
        #expect(queue.counts == (1, 1))
        queue.leave(second)
        try await queue.admission(of: third)
        queue.leave(third)
        #expect(queue.counts == (0, 0))
    }

    @Test("Higher priorities are woken first, and a priority can be changed while its ticket waits")
    func priorities() async throws {
        let queue = AdmissionQueue(limit: 1)
        let first = queue.enter()
        let (second, third) = (queue.enter(priority: 0.6), queue.enter(priority: 0.7))
        let waiting = Task { try await queue.admission(of: second) }
        queue.setPriority(0.8, of: second)
        queue.leave(first)
        try await waiting.value
        #expect(!queue.isAdmitted(third))
        queue.leave(second)
        #expect(queue.isAdmitted(third))
    }

    @Test("A raised limit wakes those whom it lets in")
    func raisedLimits() async throws {
        let queue = AdmissionQueue(limit: 1, limitPerHost: 1)
        #expect((queue.limit, queue.limitPerHost) == (1, 1))
        let tickets = (0..<3).map { _ in queue.enter(host: "a") }
        let waiting = tickets[1...].map { ticket in Task { try await queue.admission(of: ticket) } }
        queue.limit = 2
        #expect(queue.counts == (1, 2))
        queue.limitPerHost = 2
        #expect(queue.counts == (2, 1))
        queue.limitPerHost = nil
        #expect(queue.counts == (2, 1))
        queue.limit = 0
        queue.leave(tickets[0])
        #expect(queue.counts == (1, 1))
        queue.limit = 3
        for task in waiting { try await task.value }
        #expect((queue.limit, queue.limitPerHost) == (3, nil))
    }

    @Test("Five thousand tickets pass in order")
    func many() async throws {
        let queue = AdmissionQueue(limit: 3)
        let tickets = (0..<5000).map { _ in queue.enter() }
        #expect(queue.counts == (3, 4997))
        for ticket in tickets {
            try await queue.admission(of: ticket)
            queue.leave(ticket)
        }
        #expect(queue.counts == (0, 0))
    }

    @Test(
        "Never more than the limit, whatever they do, and nobody is forgotten",
        arguments: 1...10 as ClosedRange<UInt64>
    )
    func stress(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let limit = Int.random(in: 1...5, using: &random)
        let queue = AdmissionQueue(limit: limit)
        let inside = Locked((now: 0, most: 0, total: 0))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<300 {
                let ticket = queue.enter()
                let behaviour = Int.random(in: 0..<6, using: &random)
                let yields = Int.random(in: 0..<4, using: &random)
                group.addTask {
                    let task = Task {
                        defer { queue.leave(ticket) }
                        if behaviour == 0 { return }
                        try await queue.admission(of: ticket)
                        inside.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.total + 1) }
                        for _ in 0..<yields { await Task.yield() }
                        inside.withLock { $0.now -= 1 }
                    }
                    for _ in 0..<yields { await Task.yield() }
                    if behaviour == 1 { task.cancel() }
                    if behaviour == 2 {
                        for _ in 0..<yields { await Task.yield() }
                        task.cancel()
                    }
                    do { try await task.value } catch { #expect(error is CancellationError) }
                }
            }
        }
        let (now, most, total) = inside.withLock { $0 }
        #expect(now == 0)
        #expect(most <= limit)
        // Those that were neither cancelled nor abandoned were let in.
        #expect(total > 0)
        #expect(queue.counts == (0, 0))
    }
}
