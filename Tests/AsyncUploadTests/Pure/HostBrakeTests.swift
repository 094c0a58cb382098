import Testing

@testable import AsyncUpload

@Suite("Hosts that refuse are asked less", .timeLimit(.minutes(5)))
struct HostBrakeTests {
    @Test(
        "After a minute without a refusal each acceptance doubles the window, so that few and long requests open it, too"
    )
    func longRequests() {
        let start = ContinuousClock.now
        var brake = HostBrake(at: start)
        brake.refuse(admission: 0, of: 1, inFlight: 1, delay: .seconds(1), at: start)
        #expect(brake.window == 1)
        brake.accept(at: start + .seconds(60))
        #expect(brake.window == 1)
        brake.accept(at: start + .seconds(61))
        #expect(brake.window == 2)
        brake.accept(at: start + .seconds(100))
        #expect(brake.window == 2)
        brake.accept(at: start + .seconds(200))
        #expect(brake.window == 4)
    }

    private let start = ContinuousClock.now

    private func admission(limit: Int = 100, limitPerHost: Int? = nil) -> Admission {
        Admission(limit: limit, limitPerHost: limitPerHost)
    }

    @Test("Each refusal takes a place away: of 200 at once at a server that takes 4, 196 leave 4 places")
    func window() {
        var admission = admission(limit: 200)
        let tickets = admission.enter(300, at: start)
        for (number, ticket) in tickets[4..<200].enumerated() {
            #expect(admission.refused(ticket, delay: .zero, at: start) == [])
            #expect(admission.window(of: "a") == 199 - number)
            #expect(admission.stepAside(ticket) == [])
        }
        #expect(admission.window(of: "a") == 4)
        #expect(admission.admittedCount == 4)
        // One of those that were refused follows, not one of those that never were in.
        for ticket in tickets[4..<200] { #expect(admission.rejoin(ticket, at: start) == []) }
        #expect(admission.leave(tickets[0]) == [tickets[4]])
    }

    @Test("The window counts from those in flight to that host, not from the window that there was")
    func windowOfFew() {
        var admission = admission(limit: 20)
        let tickets = admission.enter(10, at: start)
        _ = admission.enter(5, host: "b", at: start)
        #expect(admission.refused(tickets[0], delay: .zero, at: start) == [])
        #expect(admission.window(of: "a") == 9)
        #expect(admission.window(of: "b") == nil)
        for ticket in tickets[0..<7] { _ = admission.leave(ticket) }
        #expect(admission.refused(tickets[8], delay: .zero, at: start) == [])
        #expect(admission.window(of: "a") == 2)
    }

    @Test("One place always is left")
    func smallestWindow() {
        var admission = admission(limit: 2)
        let tickets = admission.enter(3, at: start)
        for _ in 0..<5 { _ = admission.refused(tickets[0], delay: .zero, at: start) }
        #expect(admission.window(of: "a") == 1)
        _ = admission.leave(tickets[0])
        #expect(admission.leave(tickets[1]) == [tickets[2]])
        #expect(admission.refused(tickets[2], delay: .zero, at: start) == [])
        #expect(admission.window(of: "a") == 1)
    }

    @Test("Nobody is let in to the host for as long as the refused one waits, and others go on")
    func pause() {
        var admission = admission(limit: 3)
        let a = admission.enter(4, at: start)
        let b = admission.enter(1, host: "b", at: start)
        #expect(admission.nextWake == nil)
        _ = admission.refused(a[0], delay: .seconds(5), at: start)
        #expect(admission.pauseEnd(of: "a") == start + .seconds(5))
        #expect(admission.nextWake == start + .seconds(5))
        #expect(admission.leave(a[0]) == b)
        _ = admission.leave(a[1])
        _ = admission.leave(a[2])
        #expect(admission.advance(to: start + .milliseconds(4999)) == [])
        let late = admission.enter(host: "a", at: start + .milliseconds(4999))
        #expect(late.admitted == [])
        #expect(admission.advance(to: start + .seconds(5)) == [a[3], late.ticket])
        #expect(admission.nextWake == nil)
        #expect(admission.pauseEnd(of: "a") == nil)
    }

    @Test("A pause is never shortened, and a negative delay is none")
    func longestPause() {
        var admission = admission(limit: 4)
        let tickets = admission.enter(5, at: start)
        _ = admission.refused(tickets[0], delay: .seconds(-5), at: start)
        #expect(admission.pauseEnd(of: "a") == nil)
        _ = admission.refused(tickets[0], delay: .seconds(5), at: start)
        _ = admission.refused(tickets[1], delay: .seconds(1), at: start + .seconds(1))
        #expect(admission.pauseEnd(of: "a") == start + .seconds(5))
        _ = admission.refused(tickets[2], delay: .seconds(9), at: start + .seconds(1))
        #expect(admission.nextWake == start + .seconds(10))
    }

    @Test("The next wake is the earliest end of a pause that somebody waits for")
    func nextWake() {
        var admission = admission(limit: 10)
        let hosts = ["a", "b", "c"]
        let refused = hosts.map { admission.enter(1, host: $0, at: start)[0] }
        for (ticket, delay) in zip(refused, [1, 2, 3]) {
            _ = admission.refused(ticket, delay: .seconds(delay), at: start)
        }
        #expect(admission.nextWake == nil)
        let c = admission.enter(host: "c", at: start)
        #expect(admission.nextWake == start + .seconds(3))
        let b = admission.enter(host: "b", at: start)
        #expect(c.admitted + b.admitted == [])
        #expect(admission.nextWake == start + .seconds(2))
        #expect(admission.leave(b.ticket) == [])
        #expect(admission.nextWake == start + .seconds(3))
        // Who enters after the end of a pause that nobody waited for is in at once.
        _ = admission.leave(refused[0])
        let a = admission.enter(host: "a", at: start + .seconds(1))
        #expect(a.admitted == [a.ticket])
    }

    @Test("A host that refuses everything is asked by one at a time, ever more rarely, up to half a minute")
    func episodes() {
        var admission = admission(limit: 6)
        let tickets = admission.enter(50, at: start)
        var pauses: [Duration] = []
        var now = start
        for ticket in tickets[0..<6] { _ = admission.refused(ticket, delay: .zero, at: now) }
        var asked = tickets[0..<6].flatMap { admission.leave($0) }
        while pauses.count < 10, let ticket = asked.first {
            #expect(asked.count == 1)
            _ = admission.refused(ticket, delay: .zero, at: now)
            #expect(admission.leave(ticket) == [])
            guard let wake = admission.nextWake else { break }
            pauses.append(wake - now)
            now = wake
            asked = admission.advance(to: now)
        }
        #expect(pauses == [0.5, 1, 2, 4, 8, 16, 30, 30, 30, 30].map { .seconds($0) })
    }

    @Test("Refusals of those who were in flight together are one episode, however late they come")
    func oneEpisode() {
        var admission = admission(limit: 3)
        let tickets = admission.enter(9, at: start)
        _ = admission.refused(tickets[0], delay: .zero, at: start)
        _ = admission.refused(tickets[1], delay: .zero, at: start + .seconds(1))
        _ = admission.refused(tickets[2], delay: .zero, at: start + .seconds(2))
        #expect(admission.pauseEnd(of: "a") == nil)
        #expect(admission.leave(tickets[0]) + admission.leave(tickets[1]) == [])
        #expect(admission.leave(tickets[2]) == [tickets[3]])
        // This one was let in when it was known that the host refuses.
        _ = admission.refused(tickets[3], delay: .zero, at: start + .seconds(3))
        #expect(admission.pauseEnd(of: "a") == start + .seconds(3.5))
    }

    @Test("The pause is the longer one of the delay and that of the episode", arguments: [0.1, 0.5, 0.7])
    func pauseOfSecondEpisode(delay: Double) {
        var admission = admission(limit: 1)
        let tickets = admission.enter(3, at: start)
        _ = admission.refused(tickets[0], delay: .zero, at: start)
        #expect(admission.leave(tickets[0]) == [tickets[1]])
        _ = admission.refused(tickets[1], delay: .seconds(delay), at: start)
        #expect(admission.nextWake == start + .seconds(max(0.5, delay)))
    }

    @Test("An acceptance ends the series of refusals, but not the pause")
    func acceptance() {
        var admission = admission(limit: 3)
        let tickets = admission.enter(9, at: start)
        _ = admission.refused(tickets[0], delay: .zero, at: start)
        _ = admission.leave(tickets[0])
        _ = admission.leave(tickets[1])
        #expect(admission.stage(of: tickets[3]) == .admitted)
        _ = admission.refused(tickets[3], delay: .zero, at: start)
        #expect(admission.pauseEnd(of: "a") == start + .seconds(0.5))
        _ = admission.accepted(tickets[2], at: start)
        #expect(admission.pauseEnd(of: "a") == start + .seconds(0.5))
        _ = admission.leave(tickets[2])
        #expect(admission.leave(tickets[3]) == [])
        let end = start + .seconds(1)
        #expect(admission.advance(to: end) == [tickets[4]])
        // The first of a new series.
        _ = admission.refused(tickets[4], delay: .zero, at: end)
        #expect(admission.pauseEnd(of: "a") == nil)
    }

    @Test("The window grows after four times as many acceptances, by a quarter, and is gone at the limit")
    func growth() {
        var admission = admission(limit: 16)
        let tickets = admission.enter(9, at: start)
        _ = admission.refused(tickets[0], delay: .zero, at: start)
        #expect(admission.window(of: "a") == 8)
        #expect(admission.acceptances(of: tickets[1], at: start) == [32, 40, 48, 60])
        #expect(admission.window(of: "a") == nil)
    }

    @Test("A window of one grows by one")
    func smallGrowth() {
        var admission = admission(limit: 100, limitPerHost: 5)
        let tickets = admission.enter(2, at: start)
        _ = admission.refused(tickets[0], delay: .zero, at: start)
        #expect(admission.acceptances(of: tickets[1], at: start) == [4, 8, 12, 16])
    }

    @Test("A refusal takes the credit for the next place")
    func lostCredit() {
        var admission = admission(limit: 9)
        let tickets = admission.enter(3, at: start)
        _ = admission.refused(tickets[0], delay: .zero, at: start)
        for _ in 0..<7 { _ = admission.accepted(tickets[1], at: start) }
        _ = admission.refused(tickets[0], delay: .zero, at: start)
        #expect(admission.window(of: "a") == 1)
        for _ in 0..<3 { _ = admission.accepted(tickets[1], at: start) }
        #expect(admission.window(of: "a") == 1)
        _ = admission.accepted(tickets[1], at: start)
        #expect(admission.window(of: "a") == 2)
    }

    @Test("A window that grows lets somebody in at once")
    func admissionByGrowth() {
        var admission = admission(limit: 9)
        let tickets = admission.enter(2, at: start)
        _ = admission.refused(tickets[0], delay: .zero, at: start)
        let third = admission.enter(host: "a", at: start)
        #expect(third.admitted == [])
        _ = admission.leave(tickets[0])
        #expect(admission.stage(of: third.ticket) == .waiting)
        for _ in 0..<3 { #expect(admission.accepted(tickets[1], at: start) == []) }
        #expect(admission.accepted(tickets[1], at: start) == [third.ticket])
    }

    @Test("The brake of a host that takes as many as the limits allow anyway is gone, when its pause is over")
    func releasedAfterPause() {
        var admission = admission(limit: 2)
        let tickets = admission.enter(2, at: start)
        _ = admission.refused(tickets[0], delay: .seconds(5), at: start)
        _ = admission.setLimit(1)
        _ = admission.accepted(tickets[1], at: start + .seconds(1))
        #expect(admission.pauseEnd(of: "a") == start + .seconds(5))
        _ = admission.accepted(tickets[1], at: start + .seconds(5))
        #expect(admission.window(of: "a") == nil)
    }

    @Test("Only what is said of the admitted counts")
    func misplaced() {
        var admission = admission(limit: 1)
        let tickets = admission.enter(3, at: start)
        _ = admission.refused(tickets[1], delay: .seconds(1), at: start)
        _ = admission.stepAside(tickets[0])
        _ = admission.refused(tickets[0], delay: .seconds(1), at: start)
        _ = admission.leave(tickets[0])
        _ = admission.refused(tickets[0], delay: .seconds(1), at: start)
        #expect(admission.window(of: "a") == nil)
        _ = admission.refused(tickets[1], delay: .zero, at: start)
        for _ in 0..<100 {
            _ = admission.accepted(tickets[0], at: start)
            _ = admission.accepted(tickets[2], at: start)
        }
        #expect(admission.window(of: "a") == 1)
        _ = admission.accepted(tickets[1], at: start)
        #expect(admission.window(of: "a") == nil)
    }

    @Test("A host that refused is remembered for a minute after its pause, then not even that")
    func forgetting() {
        var admission = admission(limit: 5)
        var now = start
        for host in 0..<100 {
            let ticket = admission.enter(1, host: "\(host)", at: now)[0]
            _ = admission.refused(ticket, delay: .seconds(1), at: now)
            _ = admission.leave(ticket)
            #expect(admission.hostCount == min(host + 1, 61))
            now += .seconds(1)
        }
        let back = admission.enter(host: "99", at: now)
        #expect(admission.window(of: "99") == 1)
        // Not while somebody wants something of it.
        _ = admission.advance(to: now + .seconds(1000))
        #expect(admission.hostCount == 1)
        _ = admission.leave(back.ticket)
        _ = admission.advance(to: now + .seconds(1000))
        #expect(admission.hostCount == 0)
    }

    @Test("Time does not go back, and delays may be as long as they come")
    func strangeTimes() {
        var admission = admission(limit: 2)
        let tickets = admission.enter(3, at: start)
        _ = admission.refused(tickets[0], delay: .seconds(5), at: start)
        _ = admission.leave(tickets[0])
        _ = admission.leave(tickets[1])
        #expect(admission.advance(to: start + .seconds(5)) == [tickets[2]])
        #expect(admission.advance(to: start) == [])
        #expect(admission.pauseEnd(of: "a") == nil)
        _ = admission.refused(tickets[2], delay: .seconds(Int64.max), at: start)
        let next = admission.enter(host: "a", at: start)
        _ = admission.leave(tickets[2])
        #expect(admission.advance(to: start + .seconds(1_000_000_000)) == [])
        #expect(admission.stage(of: next.ticket) == .waiting)
    }
}

extension Admission {
    /// Several of one host.
    mutating func enter(_ count: Int, host: String = "a", at now: Instant) -> [Ticket] {
        (0..<count).map { _ in enter(host: host, at: now).ticket }
    }

    /// How many acceptances each growth of the window took, until the brake was gone.
    fileprivate mutating func acceptances(of ticket: Ticket, at now: Instant) -> [Int] {
        var counts: [Int] = []
        var count = 0
        var window = window(of: "a")
        while window != nil, counts.count < 100 {
            _ = accepted(ticket, at: now)
            count += 1
            guard self.window(of: "a") != window else { continue }
            window = self.window(of: "a")
            counts.append(count)
            count = 0
        }
        return counts
    }
}
