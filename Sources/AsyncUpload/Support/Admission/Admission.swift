/// Who may be in flight: all together, to each host, and in which order the others follow.
///
/// A pure machine: it has no lock, wakes nobody and reads no clock. Every change returns the tickets that it let in, in
/// the order in which they were. Time is what the calls say it is, and never goes back.
///
/// Of the tickets that could go now, the one with the highest priority goes first, and of those the one that entered
/// first. A host that takes nobody now, be it for its limit or its brake, holds up only those who wait for it. A change
/// costs the logarithm of the numbers of tickets and hosts; only a change of ``limitPerHost`` looks at every host.
struct Admission {
    typealias Instant = ContinuousClock.Instant

    /// One upload's place. Tickets are numbered in the order in which they entered.
    struct Ticket: Hashable, Sendable {
        let number: Int
    }

    /// Where a ticket is.
    enum Stage {
        case waiting
        case admitted
        /// It gave its place up for a while.
        case aside
    }

    /// What the waiting are sorted by: higher priorities first, then lower numbers.
    private struct Rank: Comparable {
        var priority: Float
        let number: Int

        static func < (left: Rank, right: Rank) -> Bool {
            left.priority == right.priority ? left.number < right.number : left.priority > right.priority
        }
    }

    private struct Entry {
        let host: String
        var rank: Rank
        var stage: Stage
        /// The number of admissions before its last one.
        var admission = 0
    }

    private struct Host {
        var line = RankedQueue<Ticket, Rank>()
        var admitted = 0
        /// All of its tickets, in whatever stage.
        var tickets = 0
        var brake: HostBrake?
    }

    /// How many may be admitted at a time; at least one.
    private(set) var limit: Int
    /// How many may be admitted to one host at a time; at least one, or `nil` if the number is not limited.
    private(set) var limitPerHost: Int?
    private(set) var admittedCount = 0
    private(set) var waitingCount = 0

    private var nextNumber = 0
    /// How many were admitted ever.
    private var admissions = 0
    private var entries: [Ticket: Entry] = [:]
    private var hosts: [String: Host] = [:]
    /// The latest time that was told.
    private var time: Instant?

    // What follows is derived from `hosts` and `time`, by `refresh` alone.

    /// The hosts that can take somebody who waits, by the first in their line.
    private var ready = RankedQueue<String, Rank>()
    /// The hosts that somebody waits for and that are paused, by the end of the pause.
    private var paused = RankedQueue<String, Instant>()
    /// The hosts that only their brake is remembered of, by the time when it is not any more.
    private var deserted = RankedQueue<String, Instant>()

    /// - Parameters:
    ///   - limit: how many may be admitted at a time; at least one always is.
    ///   - limitPerHost: how many of them to the same host, at least one; `nil` for as many as `limit` allows.
    init(limit: Int, limitPerHost: Int? = nil) {
        self.limit = max(1, limit)
        self.limitPerHost = limitPerHost.map { max(1, $0) }
    }
}

// MARK: - What there is

extension Admission {
    /// The earliest end of a pause that somebody waits for: ``advance(to:)`` is to be called then.
    var nextWake: Instant? { paused.first?.rank }

    /// How many hosts are remembered.
    var hostCount: Int { hosts.count }

    /// Where the ticket is; `nil` if it has left.
    func stage(of ticket: Ticket) -> Stage? {
        entries[ticket]?.stage
    }

    /// How many the host's brake lets be in flight to it; `nil` if it has none.
    func window(of host: String) -> Int? {
        hosts[host]?.brake?.window
    }

    /// When the host's pause ends; `nil` if there is none.
    func pauseEnd(of host: String) -> Instant? {
        guard let time, let brake = hosts[host]?.brake, brake.isPaused(at: time) else { return nil }
        return brake.pauseEnd
    }
}

// MARK: - The life of a ticket

extension Admission {
    /// Takes the next place.
    ///
    /// - Parameters:
    ///   - host: whoever answers: scheme, host and port.
    ///   - priority: 0...1; what is beyond counts as the bound, what is not a number as 0.5.
    mutating func enter(host: String, priority: Float = 0.5, at now: Instant) -> (ticket: Ticket, admitted: [Ticket]) {
        let ticket = Ticket(number: nextNumber)
        nextNumber += 1
        waitingCount += 1
        let rank = Rank(priority: Self.clamped(priority) ?? 0.5, number: ticket.number)
        entries[ticket] = Entry(host: host, rank: rank, stage: .waiting)
        hosts[host, default: Host()].tickets += 1
        hosts[host]?.line.set(rank, for: ticket)
        refresh(host)
        return (ticket, advance(to: now))
    }

    /// An admitted ticket gives its place up for now. Any other is left where it is.
    mutating func stepAside(_ ticket: Ticket) -> [Ticket] {
        if stage(of: ticket) == .admitted { change(ticket, to: .aside) }
        return admitWhileThereIsRoom()
    }

    /// A ticket that stepped aside waits again, before all who entered later. Any other is left where it is.
    mutating func rejoin(_ ticket: Ticket, at now: Instant) -> [Ticket] {
        if stage(of: ticket) == .aside { change(ticket, to: .waiting) }
        return advance(to: now)
    }

    /// Ends a ticket, wherever it is. Idempotent.
    mutating func leave(_ ticket: Ticket) -> [Ticket] {
        change(ticket, to: nil)
        return admitWhileThereIsRoom()
    }

    /// Changes what a ticket that waits, now or later, is sorted by. It keeps its number.
    ///
    /// - Parameter priority: 0...1; what is beyond counts as the bound, what is not a number changes nothing.
    mutating func setPriority(_ priority: Float, of ticket: Ticket) {
        guard let priority = Self.clamped(priority), var entry = entries[ticket] else { return }
        entry.rank.priority = priority
        entries[ticket] = entry
        guard entry.stage == .waiting else { return }
        hosts[entry.host]?.line.set(entry.rank, for: ticket)
        refresh(entry.host)
    }
}

// MARK: - What hosts and clocks say

extension Admission {
    /// The host refused an admitted ticket because it is asked too much: it is asked less, see ``HostBrake``.
    ///
    /// The ticket stays admitted, and is to step aside or leave next. One that is not admitted changes nothing.
    ///
    /// - Parameter delay: how long the refused one is going to wait.
    mutating func refused(_ ticket: Ticket, delay: Duration, at now: Instant) -> [Ticket] {
        guard let entry = entries[ticket], entry.stage == .admitted, let inFlight = hosts[entry.host]?.admitted else {
            return advance(to: now)
        }
        var brake = hosts[entry.host]?.brake ?? HostBrake(at: now)
        brake.refuse(admission: entry.admission, of: admissions, inFlight: inFlight, delay: delay, at: now)
        hosts[entry.host]?.brake = brake
        refresh(entry.host)
        return advance(to: now)
    }

    /// The host accepted what an admitted ticket sent. One that is not admitted changes nothing.
    mutating func accepted(_ ticket: Ticket, at now: Instant) -> [Ticket] {
        guard let entry = entries[ticket], entry.stage == .admitted, var brake = hosts[entry.host]?.brake else {
            return advance(to: now)
        }
        brake.accept(at: now)
        let isReleased = brake.isReleased(at: now, allowance: min(limitPerHost ?? limit, limit))
        hosts[entry.host]?.brake = isReleased ? nil : brake
        refresh(entry.host)
        return advance(to: now)
    }

    /// Ends the pauses that are over, and forgets the brakes of hosts that nobody has wanted for a while.
    mutating func advance(to now: Instant) -> [Ticket] {
        let now = max(now, time ?? now)
        time = now
        while let (host, end) = paused.first, end <= now { refresh(host) }
        while let (host, end) = deserted.first, end <= now {
            hosts[host]?.brake = nil
            refresh(host)
        }
        return admitWhileThereIsRoom()
    }

    /// Sets ``limit``. Who has been admitted stays so.
    mutating func setLimit(_ limit: Int) -> [Ticket] {
        self.limit = max(1, limit)
        return admitWhileThereIsRoom()
    }

    /// Sets ``limitPerHost``. Who has been admitted stays so.
    mutating func setLimitPerHost(_ limit: Int?) -> [Ticket] {
        limitPerHost = limit.map { max(1, $0) }
        for host in Array(hosts.keys) { refresh(host) }
        return admitWhileThereIsRoom()
    }
}

// MARK: - Keeping count

extension Admission {
    private static func clamped(_ priority: Float) -> Float? {
        priority.isNaN ? nil : min(max(priority, 0), 1)
    }

    private mutating func admitWhileThereIsRoom() -> [Ticket] {
        var admitted: [Ticket] = []
        while admittedCount < limit, let host = ready.first?.key, let ticket = hosts[host]?.line.first?.key {
            change(ticket, to: .admitted)
            admitted.append(ticket)
        }
        return admitted
    }

    /// Takes a ticket from one stage to another, or away.
    private mutating func change(_ ticket: Ticket, to stage: Stage?) {
        guard let entry = entries[ticket] else { return }
        let host = entry.host
        switch entry.stage {
        case .waiting:
            waitingCount -= 1
            hosts[host]?.line.remove(ticket)
        case .admitted:
            admittedCount -= 1
            hosts[host]?.admitted -= 1
        case .aside: break
        }
        switch stage {
        case .waiting:
            waitingCount += 1
            hosts[host]?.line.set(entry.rank, for: ticket)
        case .admitted:
            admittedCount += 1
            hosts[host]?.admitted += 1
            entries[ticket]?.admission = admissions
            admissions += 1
        case .aside: break
        case nil: hosts[host]?.tickets -= 1
        }
        if let stage { entries[ticket]?.stage = stage } else { entries[ticket] = nil }
        refresh(host)
    }

    /// Brings what is derived from a host up to date, and forgets the host if there is nothing to remember of it.
    private mutating func refresh(_ key: String) {
        guard let host = hosts[key] else { return }
        let pauseEnd = pauseEnd(of: key)
        let room = min(limitPerHost ?? .max, host.brake?.window ?? .max) - host.admitted
        ready.set(pauseEnd == nil && room > 0 ? host.line.first?.rank : nil, for: key)
        paused.set(host.line.isEmpty ? nil : pauseEnd, for: key)
        deserted.set(host.tickets == 0 ? host.brake.map { $0.pauseEnd + HostBrake.memory } : nil, for: key)
        if host.tickets == 0, host.brake == nil { hosts[key] = nil }
    }
}
