/// How much less a host is asked since it refused something: fewer requests at a time, and pauses.
///
/// A host that takes a few at a time ends with as many in flight as it takes: every refusal takes the place of the
/// refused one away, and what is accepted later gives places back, one after the other. A host that takes nothing is
/// asked by one at a time, after pauses that grow, no matter how many wait for it.
///
/// A pure value: it reads no clock and knows the requests in flight only as numbers.
struct HostBrake {
    typealias Instant = ContinuousClock.Instant

    /// How long a host is remembered after its pause when nobody wants anything of it, and after what time without a refusal
    /// it is trusted with twice as much.
    static let memory: Duration = .seconds(60)

    /// How many may be in flight; at least one.
    private(set) var window: Int
    /// Nobody is let in before.
    private(set) var pauseEnd: Instant
    /// Refusals since the last acceptance, counting those of requests that were in flight together as one.
    private(set) var episodes = 0
    /// How many had ever been admitted when the host last refused one.
    private var admissionsAtRefusal = 0
    /// Acceptances since the last refusal or the last growth of the window.
    private var credit = 0
    /// When the window grew last, or could have begun to.
    private var lastGrowth: Instant

    /// The brake of a host that refuses for the first time.
    init(at now: Instant) {
        window = .max
        pauseEnd = now
        lastGrowth = now
    }

    /// Whether nobody may be let in for now.
    func isPaused(at now: Instant) -> Bool { now < pauseEnd }

    /// Whether it holds nobody back any more.
    ///
    /// - Parameter allowance: how many the limits allow to be in flight to the host.
    func isReleased(at now: Instant, allowance: Int) -> Bool {
        window >= allowance && episodes == 0 && !isPaused(at: now)
    }

    /// The host refused a request.
    ///
    /// - Parameters:
    ///   - admission: the number of admissions, to any host, before that of the refused one.
    ///   - admissions: the number of admissions up to now.
    ///   - inFlight: how many were in flight to the host, the refused one included.
    ///   - delay: how long the refused one is going to wait.
    mutating func refuse(admission: Int, of admissions: Int, inFlight: Int, delay: Duration, at now: Instant) {
        window = max(1, min(window, inFlight) - 1)
        credit = 0
        // Who was under way already when the host refused another says nothing new.
        if episodes == 0 || admission >= admissionsAtRefusal { episodes += 1 }
        admissionsAtRefusal = admissions
        pauseEnd = max(pauseEnd, now + max(delay, episodePause))
        lastGrowth = pauseEnd
    }

    /// The host accepted a request.
    mutating func accept(at now: Instant) {
        episodes = 0
        credit += 1
        // Where a request takes long, the others would wait for hours before there are enough of them.
        if now - lastGrowth >= Self.memory {
            grow(by: window, at: now)
        } else if credit / 4 >= window {
            grow(by: max(1, window / 4), at: now)
        }
    }

    private mutating func grow(by count: Int, at now: Instant) {
        (credit, lastGrowth) = (0, now)
        let (sum, isTooMuch) = window.addingReportingOverflow(count)
        window = isTooMuch ? .max : sum
    }

    /// None after the first episode, then half a second, doubled with each, up to half a minute.
    private var episodePause: Duration {
        guard episodes > 1 else { return .zero }
        return min(.milliseconds(500) * (1 << min(episodes - 2, 6)), .seconds(30))
    }
}
