import Foundation

/// Takes measurements of several rows in turn, so that a slow moment of the machine hits all of them.
struct Rounds {
    var count: Int
    /// After so many seconds in one section a row sits out the rounds that are left: who is slow is not worth waiting for.
    var patience: Double

    /// Measures every row once a round. Every other round goes backwards: to be the first is no advantage then. One round
    /// more, at the beginning, does not count: it brings programs and files into memory.
    ///
    /// - Parameter measure: gets the row's index; `nil` for a row that cannot be measured, which is left out.
    /// - Returns: the measurements of each row, `nil` for one that is left out.
    func measure(_ rowCount: Int, _ measure: (Int) async throws -> Measurement?) async throws -> [[Measurement]?] {
        var rows: [[Measurement]?] = []
        var spent: [Double] = []
        for index in 0..<rowCount {
            let start = ContinuousClock.now
            let trial = try await measure(index)
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            spent.append(0)
            // The first time is as good as any other for somebody who has no second one.
            rows.append(trial.map { seconds > patience ? [$0] : [] })
            if seconds > patience { spent[index] = seconds }
        }
        for round in 0..<count {
            let indices = Array(rows.indices)
            for index in round.isMultiple(of: 2) ? indices : indices.reversed() where rows[index] != nil {
                guard spent[index] < patience else { continue }
                let start = ContinuousClock.now
                if let measurement = try await measure(index) { rows[index]?.append(measurement) }
                spent[index] += (ContinuousClock.now - start) / .seconds(1)
            }
        }
        return rows
    }
}
