import Foundation

/// Random numbers that are the same in every run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    /// Those of suites that are run with several; the environment may name one, to run that again.
    static let seeds: [UInt64] =
        ProcessInfo.processInfo.environment["ASYNCUPLOAD_SEED"].flatMap { UInt64($0) }.map { [$0] } ?? [1, 2, 3]

    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
