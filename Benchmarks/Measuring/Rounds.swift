import Foundation

/// Takes measurements of several rows in turn, so that a slow moment of the machine hits all of them.
struct Rounds {
    var count: Int
    /// After so many seconds in one section a row sits out the rounds that are left: who is slow is not worth waiting for.
    var patience: Double

    /// Measures every row once a round, and each at least once. Every other round goes backwards: to be the first is no
    /// advantage then.
    ///
    /// - Parameter measure: gets the row's index.
    /// - Returns: the measurements of each row.
    func measure(_ rowCount: Int, _ measure: (Int) async throws -> Measurement) async throws -> [[Measurement]] {
        var rows = [[Measurement]](repeating: [], count: rowCount)
        var spent = [Double](repeating: 0, count: rowCount)
        for round in 0..<count {
            let indices = Array(rows.indices)
            for index in round.isMultiple(of: 2) ? indices : indices.reversed() {
                guard round == 0 || spent[index] < patience else { continue }
                let start = ContinuousClock.now
                rows[index].append(try await measure(index))
                spent[index] += (ContinuousClock.now - start) / .seconds(1)
            }
        }
        return rows
    }
}
