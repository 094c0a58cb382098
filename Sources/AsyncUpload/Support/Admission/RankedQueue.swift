/// Keys in the order of their ranks, lowest first.
///
/// A binary heap that also knows where each key is: a key can change its rank or leave from anywhere, and nothing of it
/// stays behind. Every change costs the logarithm of the number of keys. Keys of equal rank come in no certain order.
struct RankedQueue<Key: Hashable, Rank: Comparable> {
    private var heap: [(key: Key, rank: Rank)] = []
    private var positions: [Key: Int] = [:]

    var count: Int { heap.count }
    var isEmpty: Bool { heap.isEmpty }

    /// The key with the lowest rank.
    var first: (key: Key, rank: Rank)? { heap.first }

    /// Puts the key in its place, whether it is new or not; without a rank it leaves.
    mutating func set(_ rank: Rank?, for key: Key) {
        guard let rank else { return remove(key) }
        if let position = positions[key] {
            guard heap[position].rank != rank else { return }
            heap[position].rank = rank
            restoreOrder(around: position)
        } else {
            positions[key] = heap.count
            heap.append((key, rank))
            rise(from: heap.count - 1)
        }
    }

    /// Takes the key out. Idempotent.
    mutating func remove(_ key: Key) {
        guard let position = positions.removeValue(forKey: key) else { return }
        let last = heap.removeLast()
        guard position < heap.count else { return }
        heap[position] = last
        positions[last.key] = position
        restoreOrder(around: position)
    }

    private mutating func restoreOrder(around position: Int) {
        rise(from: position)
        sink(from: position)
    }

    private mutating func rise(from start: Int) {
        var position = start
        while position > 0 {
            let parent = (position - 1) / 2
            guard heap[position].rank < heap[parent].rank else { return }
            swap(position, parent)
            position = parent
        }
    }

    private mutating func sink(from start: Int) {
        var position = start
        while true {
            var lowest = position
            for child in [2 * position + 1, 2 * position + 2]
            where child < heap.count && heap[child].rank < heap[lowest].rank {
                lowest = child
            }
            guard lowest != position else { return }
            swap(position, lowest)
            position = lowest
        }
    }

    private mutating func swap(_ left: Int, _ right: Int) {
        heap.swapAt(left, right)
        positions[heap[left].key] = left
        positions[heap[right].key] = right
    }
}
