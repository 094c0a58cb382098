import Foundation
import Testing

@testable import AsyncUpload

@Suite("Who goes next", .timeLimit(.minutes(5)))
struct AdmissionTests {
    private let start = ContinuousClock.now

    @Test("Tickets of one priority go in the order in which they entered, whatever their hosts")
    func order() {
        var admission = Admission(limit: 1)
        let tickets = (0..<30).map { admission.enter(host: "\($0 % 3)", at: start).ticket }
        #expect(admission.stage(of: tickets[0]) == .admitted)
        for (ticket, next) in zip(tickets, tickets.dropFirst()) {
            #expect(admission.leave(ticket) == [next])
        }
        #expect(admission.leave(tickets[29]) == [])
        #expect(admission.admittedCount == 0)
    }

    @Test("Higher priorities go first, and equal ones in the order in which they entered")
    func priorities() {
        var admission = Admission(limit: 1)
        let first = admission.enter(host: "a", at: start).ticket
        let priorities: [Float] = [0.5, 0, 1, 0.5, 0.75, 1]
        let tickets = priorities.map { admission.enter(host: "\($0)", priority: $0, at: start).ticket }
        #expect(admission.drain(from: first) == [2, 5, 4, 0, 3, 1].map { tickets[$0] })
    }

    @Test("A priority beyond the bounds counts as the bound, and what is not a number as the one in the middle")
    func strangePriorities() {
        var admission = Admission(limit: 1)
        let first = admission.enter(host: "a", at: start).ticket
        let priorities: [Float] = [0, -.infinity, .nan, 0.5, 7, 1, 0.25, -1, -0.0]
        let tickets = priorities.map { admission.enter(host: "a", priority: $0, at: start).ticket }
        #expect(admission.drain(from: first) == [4, 5, 2, 3, 6, 0, 1, 7, 8].map { tickets[$0] })
    }

    @Test("A priority can be changed while the ticket waits, and then its number counts as before")
    func changedPriorities() {
        var admission = Admission(limit: 1)
        let first = admission.enter(host: "a", at: start).ticket
        let tickets = (0..<5).map { admission.enter(host: "\($0 % 2)", at: start).ticket }
        admission.setPriority(1, of: tickets[4])
        admission.setPriority(1, of: tickets[2])
        admission.setPriority(-3, of: tickets[0])
        admission.setPriority(0.1, of: tickets[1])
        admission.setPriority(0.5, of: tickets[1])
        admission.setPriority(.nan, of: tickets[4])
        #expect(admission.drain(from: first) == [2, 4, 1, 3, 0].map { tickets[$0] })
    }

    @Test("A host at its limit does not hold up the others")
    func limitPerHost() {
        var admission = Admission(limit: 4, limitPerHost: 2)
        let a = (0..<5).map { _ in admission.enter(host: "a", priority: 1, at: start).ticket }
        let b = (0..<5).map { _ in admission.enter(host: "b", priority: 0, at: start).ticket }
        #expect(admission.stages(of: a) == [.admitted, .admitted, .waiting, .waiting, .waiting])
        #expect(admission.stages(of: b) == [.admitted, .admitted, .waiting, .waiting, .waiting])
        // The place that `b` leaves is not for `a`, however urgent.
        #expect(admission.leave(b[1]) == [b[2]])
        #expect(admission.leave(a[0]) == [a[2]])
        #expect(admission.admittedCount == 4)
        #expect(admission.waitingCount == 4)
    }

    @Test("Limits below one are one", arguments: [0, -1, Int.min])
    func smallLimits(limit: Int) {
        var admission = Admission(limit: limit, limitPerHost: limit)
        #expect(admission.limit == 1)
        #expect(admission.limitPerHost == 1)
        _ = admission.setLimit(2)
        let (first, second) = (admission.enter(host: "a", at: start), admission.enter(host: "a", at: start))
        #expect(first.admitted == [first.ticket])
        #expect(second.admitted == [])
        _ = admission.setLimit(limit)
        _ = admission.setLimitPerHost(limit)
        #expect(admission.limit == 1)
        #expect(admission.limitPerHost == 1)
    }

    @Test("A raised limit lets in as many as it has room for, at once")
    func raisedLimit() {
        var admission = Admission(limit: 1)
        let tickets = (0..<6).map { _ in admission.enter(host: "a", at: start).ticket }
        #expect(admission.setLimit(4) == Array(tickets[1..<4]))
        #expect(admission.setLimit(.max) == Array(tickets[4...]))
    }

    @Test("A lowered limit lets nobody in until there are fewer, and throws nobody out")
    func loweredLimit() {
        var admission = Admission(limit: 4)
        let tickets = (0..<6).map { _ in admission.enter(host: "a", at: start).ticket }
        #expect(admission.setLimit(2) == [])
        #expect(admission.admittedCount == 4)
        #expect(admission.leave(tickets[0]) == [])
        #expect(admission.leave(tickets[1]) == [])
        #expect(admission.leave(tickets[2]) == [tickets[4]])
    }

    @Test("The limit of each host can be raised, lowered and lifted")
    func changedLimitPerHost() {
        var admission = Admission(limit: 100, limitPerHost: 1)
        let a = (0..<6).map { _ in admission.enter(host: "a", at: start).ticket }
        let b = (0..<6).map { _ in admission.enter(host: "b", at: start).ticket }
        #expect(admission.setLimitPerHost(2) == [a[1], b[1]])
        #expect(admission.setLimitPerHost(1) == [])
        #expect(admission.leave(a[0]) == [])
        #expect(admission.leave(a[1]) == [a[2]])
        #expect(admission.setLimitPerHost(nil) == Array(a[3...] + b[2...]))
        #expect(admission.waitingCount == 0)
    }

    @Test("Who steps aside makes room, and comes back before all who entered later")
    func steppingAside() {
        var admission = Admission(limit: 1)
        let tickets = (0..<4).map { _ in admission.enter(host: "a", at: start).ticket }
        #expect(admission.stepAside(tickets[0]) == [tickets[1]])
        #expect(admission.stage(of: tickets[0]) == .aside)
        #expect(admission.admittedCount == 1)
        #expect(admission.waitingCount == 2)
        #expect(admission.rejoin(tickets[0], at: start) == [])
        #expect(admission.leave(tickets[1]) == [tickets[0]])
        // With room it is in at once.
        #expect(admission.stepAside(tickets[0]) == [tickets[2]])
        #expect(admission.setLimit(3) == [tickets[3]])
        #expect(admission.rejoin(tickets[0], at: start) == [tickets[0]])
    }

    @Test("Who comes back has the priority that it had, or got meanwhile", arguments: [nil, 0.1, 0.9] as [Float?])
    func priorityAside(priority: Float?) {
        var admission = Admission(limit: 1)
        let first = admission.enter(host: "a", priority: 0.7, at: start).ticket
        let second = admission.enter(host: "a", priority: 0.8, at: start).ticket
        let third = admission.enter(host: "a", priority: 0.6, at: start).ticket
        #expect(admission.stepAside(first) == [second])
        if let priority { admission.setPriority(priority, of: first) }
        #expect(admission.rejoin(first, at: start) == [])
        #expect(admission.leave(second) == [priority == 0.1 ? third : first])
    }

    @Test("Only the admitted step aside, and only who is aside comes back")
    func misplaced() {
        var admission = Admission(limit: 1)
        let (first, second) = (
            admission.enter(host: "a", at: start).ticket, admission.enter(host: "a", at: start).ticket
        )
        #expect(admission.stepAside(second) == [])
        #expect(admission.rejoin(second, at: start) == [])
        #expect(admission.rejoin(first, at: start) == [])
        #expect(admission.stages(of: [first, second]) == [.admitted, .waiting])
        #expect(admission.stepAside(first) == [second])
        #expect(admission.stepAside(first) == [])
        #expect(admission.leave(first) == [])
        #expect(admission.rejoin(first, at: start) == [])
        #expect(admission.stages(of: [first, second]) == [nil, .admitted])
        #expect(admission.waitingCount == 0)
    }

    @Test("A ticket can leave from anywhere, and more than once")
    func leaving() {
        var admission = Admission(limit: 1)
        let tickets = (0..<4).map { _ in admission.enter(host: "a", at: start).ticket }
        #expect(admission.stepAside(tickets[0]) == [tickets[1]])
        #expect(admission.leave(tickets[0]) == [])
        #expect(admission.leave(tickets[2]) == [])
        #expect(admission.leave(tickets[2]) == [])
        #expect(admission.leave(tickets[1]) == [tickets[3]])
        #expect(admission.leave(tickets[1]) == [])
        #expect(admission.admittedCount == 1)
        #expect(admission.waitingCount == 0)
        #expect(admission.leave(tickets[3]) == [])
        #expect(admission.hostCount == 0)
    }

    @Test("Nothing is kept of hosts that nobody wants anything of any more")
    func forgetting() {
        var admission = Admission(limit: 2)
        for host in 0..<100 {
            let tickets = (0..<4).map { _ in admission.enter(host: "\(host)", at: start).ticket }
            #expect(admission.hostCount == 1)
            _ = admission.stepAside(tickets[0])
            for ticket in tickets { _ = admission.leave(ticket) }
        }
        #expect(admission.hostCount == 0)
    }

    @Test("Each of many who wait costs little more than each of few", arguments: [1, 10, .max])
    func many(ticketsPerHost: Int) {
        // It would be twenty times as much if each looked at all the others.
        let few = (0..<5).map { _ in processorTimePerTicket(of: 500, perHost: ticketsPerHost) }.min()
        let many = processorTimePerTicket(of: 10_000, perHost: ticketsPerHost)
        #expect(many < 6 * (few ?? 0))
    }

    /// The nanoseconds that a ticket costs, of many that enter, change their priority and leave, half of them in turn.
    private func processorTimePerTicket(of count: Int, perHost: Int) -> UInt64 {
        let began = processorTime()
        var admission = Admission(limit: 3, limitPerHost: 2)
        let tickets = (0..<count).map { number in
            admission.enter(host: "\(number / perHost)", priority: Float(number % 7) / 7, at: start).ticket
        }
        for ticket in tickets {
            admission.setPriority(1, of: ticket)
            admission.setPriority(0.5, of: ticket)
        }
        for ticket in tickets.suffix(count / 2) { _ = admission.leave(ticket) }
        for ticket in tickets { _ = admission.leave(ticket) }
        #expect(admission.hostCount == 0)
        return (processorTime() - began) / UInt64(count)
    }
}

extension Admission {
    func stages(of tickets: [Ticket]) -> [Stage?] {
        tickets.map { stage(of: $0) }
    }

    /// Lets the first leave, then whoever that lets in, and so on. Returns them in order, without the first.
    mutating func drain(from first: Ticket) -> [Ticket] {
        var admitted: [Ticket] = []
        var leaving: [Ticket] = [first]
        while !leaving.isEmpty {
            leaving = leaving.flatMap { leave($0) }
            admitted += leaving
        }
        return admitted
    }
}

/// The nanoseconds for which the current thread has been running.
private func processorTime() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
