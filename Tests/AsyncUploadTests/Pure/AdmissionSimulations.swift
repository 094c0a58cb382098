import Testing

@testable import AsyncUpload

@Suite("Many uploads and a server that refuses", .timeLimit(.minutes(5)))
struct AdmissionSimulations {
    @Test(
        "Of 200 uploads at a server that takes 4 at a time, all are accepted, with fewer than 400 refusals",
        arguments: 1...20 as ClosedRange<UInt64>
    )
    func crowd(seed: UInt64) {
        var simulation = RefusedUploads(seed: seed, limit: 200, capacity: 4)
        simulation.run(uploads: 200)
        #expect(simulation.accepted == 200)
        #expect(simulation.refusals.count < 400)
        #expect(simulation.refusals.count >= 196)
        // The server is kept busy: one upload takes 0.3 seconds at the mean, so that all take at least 15.
        #expect(simulation.elapsed < .seconds(120))
        #expect(simulation.admission.hostCount <= 1)
    }

    @Test(
        "In an outage of a minute the host is asked a dozen times, and as much as before when it is over",
        arguments: 1...20 as ClosedRange<UInt64>
    )
    func outage(seed: UInt64) {
        let limit = 6
        var simulation = RefusedUploads(seed: seed, limit: limit, capacity: .max, outage: .seconds(60))
        simulation.run(uploads: 200)
        #expect(simulation.accepted == 200)
        // Those who were under way when it began, and then one at a time.
        #expect(simulation.refusals.count - limit <= 12)
        #expect(simulation.refusals.count >= limit)
        #expect(simulation.refusals.allSatisfy { $0 < .seconds(61) })
        #expect(simulation.firstAcceptance < .seconds(60 + 31))
        #expect(simulation.mostInFlightAtLast == limit)
        #expect(simulation.admission.hostCount == 0)
    }

    @Test(
        "Whatever happens, the best of those who may go are let in, nobody else, and in the end everybody",
        arguments: 1...20 as ClosedRange<UInt64>
    )
    func random(seed: UInt64) {
        var model = ModelledAdmission(seed: seed)
        for _ in 0..<400 { model.step() }
        model.drain()
        #expect(model.admission.admittedCount == 0)
        #expect(model.admission.waitingCount == 0)
    }
}

/// Uploads that follow each other at one server, in virtual time.
private struct RefusedUploads {
    private enum Event {
        case refused, accepted, waitedOut
    }

    private struct Occurrence: Comparable {
        let time: ContinuousClock.Instant
        let number: Int
        static func < (left: Self, right: Self) -> Bool {
            (left.time, left.number) < (right.time, right.number)
        }
    }

    private(set) var admission: Admission
    private(set) var accepted = 0
    /// When there were any, since the start.
    private(set) var refusals: [Duration] = []
    private(set) var firstAcceptance: Duration = .zero
    /// How many were in flight at most when the last half of them was accepted.
    private(set) var mostInFlightAtLast = 0

    private let start = ContinuousClock.now
    private var now: ContinuousClock.Instant
    private let capacity: Int
    private let outage: Duration
    private var random: SeededGenerator
    private var busy = 0
    private var events: [Int: (ticket: Admission.Ticket, event: Event)] = [:]
    private var agenda = RankedQueue<Int, Occurrence>()
    private var nextEvent = 0
    private var attempts: [Admission.Ticket: Int] = [:]

    var elapsed: Duration { now - start }

    init(seed: UInt64, limit: Int, capacity: Int, outage: Duration = .zero) {
        admission = Admission(limit: limit)
        random = SeededGenerator(seed: seed)
        now = start
        self.capacity = capacity
        self.outage = outage
    }

    mutating func run(uploads: Int) {
        for _ in 0..<uploads { send(admission.enter(host: "a", at: now).admitted) }
        var steps = 0
        while accepted < uploads, steps < 100_000 {
            steps += 1
            let next = agenda.first?.rank.time
            if let wake = admission.nextWake, wake <= next ?? wake {
                now = wake
                send(admission.advance(to: now))
            } else if let (number, next) = agenda.first, let (ticket, event) = events.removeValue(forKey: number) {
                agenda.remove(number)
                now = next.time
                handle(event, of: ticket)
                if accepted > uploads / 2 { mostInFlightAtLast = max(mostInFlightAtLast, admission.admittedCount) }
            } else {
                Issue.record("nobody does anything any more, and \(accepted) were accepted")
                return
            }
        }
    }

    private mutating func handle(_ event: Event, of ticket: Admission.Ticket) {
        switch event {
        case .accepted:
            busy -= 1
            accepted += 1
            if accepted == 1 { firstAcceptance = elapsed }
            send(admission.accepted(ticket, at: now))
            send(admission.leave(ticket))
        case .refused:
            refusals.append(elapsed)
            let attempt = attempts[ticket, default: 0]
            attempts[ticket] = attempt + 1
            let delay: Duration = .milliseconds(Int.random(in: 0...(100 << min(attempt, 6)), using: &random))
            send(admission.refused(ticket, delay: delay, at: now))
            send(admission.stepAside(ticket))
            occur(.waitedOut, of: ticket, in: delay)
        case .waitedOut:
            send(admission.rejoin(ticket, at: now))
        }
    }

    private mutating func send(_ tickets: [Admission.Ticket]) {
        for ticket in tickets {
            if elapsed < outage || busy >= capacity {
                occur(.refused, of: ticket, in: .milliseconds(Int.random(in: 5...50, using: &random)))
            } else {
                busy += 1
                occur(.accepted, of: ticket, in: .milliseconds(Int.random(in: 100...500, using: &random)))
            }
        }
    }

    private mutating func occur(_ event: Event, of ticket: Admission.Ticket, in duration: Duration) {
        events[nextEvent] = (ticket, event)
        agenda.set(Occurrence(time: now + duration, number: nextEvent), for: nextEvent)
        nextEvent += 1
    }
}

/// An admission and, beside it, what should come of it, found by looking at everybody each time.
private struct ModelledAdmission {
    private struct Member {
        let ticket: Admission.Ticket
        let host: String
        var priority: Float
        var stage: Admission.Stage?
    }

    private(set) var admission: Admission
    private var random: SeededGenerator
    private var now = ContinuousClock.now
    /// In the order in which they entered.
    private var members: [Member] = []

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        let limit = Int.random(in: 1...8, using: &random)
        admission = Admission(limit: limit, limitPerHost: Bool.random(using: &random) ? 2 : nil)
    }

    mutating func step() {
        let ticket = members.randomElement(using: &random)?.ticket
        switch (Int.random(in: 0..<16, using: &random), ticket) {
        case (0..<5, _), (_, nil): enter()
        case (5, let ticket?): leave(ticket)
        case (6, _): leaveAdmitted()
        case (7, let ticket?):
            set(.aside, of: ticket, if: .admitted)
            check(admission.stepAside(ticket))
        case (8, let ticket?):
            set(.waiting, of: ticket, if: .aside)
            check(admission.rejoin(ticket, at: now))
        case (9, let ticket?):
            check(admission.refused(ticket, delay: .milliseconds(Int.random(in: 0...900, using: &random)), at: now))
        case (10...11, let ticket?): check(admission.accepted(ticket, at: now))
        case (12, let ticket?): setPriority(of: ticket)
        case (13, _): check(admission.setLimit(Int.random(in: 1...8, using: &random)))
        case (14, _): check(admission.setLimitPerHost([nil, 1, 2, 5].randomElement(using: &random) ?? nil))
        default:
            now += .milliseconds(Int.random(in: 0...600, using: &random))
            check(admission.advance(to: now))
        }
    }

    /// Everybody does what remains to be done: comes back, waits, leaves.
    mutating func drain() {
        for ticket in members.map(\.ticket) {
            set(.waiting, of: ticket, if: .aside)
            check(admission.rejoin(ticket, at: now))
        }
        var rounds = 2 * members.count
        while members.contains(where: { $0.stage != nil }), rounds > 0 {
            rounds -= 1
            if members.contains(where: { $0.stage == .admitted }) {
                leaveAdmitted()
            } else if let wake = admission.nextWake {
                now = wake
                check(admission.advance(to: now))
            } else {
                break
            }
        }
        #expect(members.allSatisfy { $0.stage == nil })
    }

    private mutating func enter() {
        let host = ["a", "b", "c", "d"][Int.random(in: 0..<4, using: &random)]
        let priority = ([0.25, 0.5, 0.75] as [Float])[Int.random(in: 0..<3, using: &random)]
        let (ticket, admitted) = admission.enter(host: host, priority: priority, at: now)
        members.append(Member(ticket: ticket, host: host, priority: priority, stage: .waiting))
        check(admitted)
    }

    private mutating func leave(_ ticket: Admission.Ticket) {
        set(nil, of: ticket)
        check(admission.leave(ticket))
    }

    private mutating func leaveAdmitted() {
        guard let member = members.filter({ $0.stage == .admitted }).randomElement(using: &random) else { return }
        leave(member.ticket)
    }

    private mutating func setPriority(of ticket: Admission.Ticket) {
        let priority = Float.random(in: 0...1, using: &random)
        for index in members.indices where members[index].ticket == ticket { members[index].priority = priority }
        admission.setPriority(priority, of: ticket)
    }

    private mutating func set(_ stage: Admission.Stage?, of ticket: Admission.Ticket, if old: Admission.Stage? = nil) {
        for index in members.indices where members[index].ticket == ticket {
            if old == nil || members[index].stage == old { members[index].stage = stage }
        }
    }

    /// Lets in one after the other, the best of all who may go each time, and expects just those.
    private mutating func check(_ admitted: [Admission.Ticket]) {
        var expected: [Admission.Ticket] = []
        while let best = best() {
            members[best].stage = .admitted
            expected.append(members[best].ticket)
        }
        #expect(admitted == expected)
        #expect(admission.stages(of: members.map(\.ticket)) == members.map(\.stage))
        #expect(admission.admittedCount == members.count { $0.stage == .admitted })
        #expect(admission.waitingCount == members.count { $0.stage == .waiting })
        let wakes = members.filter { $0.stage == .waiting }.compactMap { admission.pauseEnd(of: $0.host) }
        #expect(admission.nextWake == wakes.min())
    }

    private func best() -> Int? {
        let admitted = members.filter { $0.stage == .admitted }
        guard admitted.count < admission.limit else { return nil }
        var best: Int?
        for (index, member) in members.enumerated() where member.stage == .waiting {
            let inFlight = admitted.count { $0.host == member.host }
            guard inFlight < admission.limitPerHost ?? .max, inFlight < admission.window(of: member.host) ?? .max,
                admission.pauseEnd(of: member.host).map({ $0 <= now }) ?? true
            else { continue }
            if let current = best, members[current].priority >= member.priority { continue }
            best = index
        }
        return best
    }
}
