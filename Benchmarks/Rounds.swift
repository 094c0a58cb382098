/// Measurements of several contestants, taken in turn so that a slow moment of the machine hits all of them.
struct Rounds<Contestant: Hashable, Measurement> {
    private var measurements: [Contestant: [Measurement]] = [:]

    /// Measures every contestant once a round. Every other round goes backwards: to be the first is no advantage then.
    init(
        _ count: Int,
        of contestants: [Contestant],
        measure: (Contestant) async throws -> Measurement
    ) async throws {
        for round in 0..<count {
            for contestant in round.isMultiple(of: 2) ? contestants : contestants.reversed() {
                measurements[contestant, default: []].append(try await measure(contestant))
            }
        }
    }

    func spread(of contestant: Contestant, _ value: KeyPath<Measurement, Double>) -> Spread {
        Spread(measurements[contestant, default: []].map { $0[keyPath: value] })
    }

    /// One contestant's values over another's, round by round, so that each ratio is of two runs made one after the
    /// other.
    func ratio(of one: Contestant, to other: Contestant, _ value: KeyPath<Measurement, Double>) -> Spread {
        let pairs = zip(measurements[one, default: []], measurements[other, default: []])
        return Spread(pairs.map { $0[keyPath: value] / $1[keyPath: value] })
    }
}
