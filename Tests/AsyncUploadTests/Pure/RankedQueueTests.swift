import Testing

@testable import AsyncUpload

@Suite("Keys in the order of their ranks")
struct RankedQueueTests {
    @Test("The first is the lowest of all, whatever changes", arguments: 1...20 as ClosedRange<UInt64>)
    func first(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var queue = RankedQueue<String, Int>()
        var ranks: [String: Int] = [:]
        for _ in 0..<500 {
            let key = String(Int.random(in: 0..<60, using: &random))
            let rank = Int.random(in: 0..<5, using: &random) == 0 ? nil : Int.random(in: 0..<100, using: &random)
            queue.set(rank, for: key)
            ranks[key] = rank
            #expect(queue.count == ranks.count)
            #expect(queue.first?.rank == ranks.values.min())
            if let first = queue.first { #expect(ranks[first.key] == first.rank) }
        }
        var last = Int.min
        while let (key, rank) = queue.first {
            #expect(rank >= last)
            #expect(ranks.removeValue(forKey: key) == rank)
            queue.remove(key)
            queue.remove(key)
            last = rank
        }
        #expect(ranks.isEmpty)
        #expect(queue.isEmpty)
    }
}
