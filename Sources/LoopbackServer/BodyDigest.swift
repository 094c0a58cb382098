public import Foundation

/// A fast 64-bit hash to compare bodies with: the same however the bytes are cut into pieces, different for any
/// likely corruption. It is no defence against a forger, and its values mean nothing outside the process.
public struct BodyDigest: Sendable {
    private var state: UInt64 = 0x9e37_79b9_7f4a_7c15
    private var pending: UInt64 = 0
    private var pendingCount = 0
    private var byteCount: UInt64 = 0

    /// The digest of no bytes.
    public init() {}

    /// The digest of `data`.
    public static func of(_ data: Data) -> UInt64 {
        var digest = BodyDigest()
        data.withUnsafeBytes { digest.update($0) }
        return digest.value
    }

    /// Takes in further bytes.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard var next = bytes.baseAddress else { return }
        var left = bytes.count
        byteCount &+= UInt64(left)
        while pendingCount != 0, left > 0 {
            add(next.load(as: UInt8.self))
            next += 1
            left -= 1
        }
        let whole = left & ~7
        addWords(next, byteCount: whole)
        next += whole
        left -= whole
        while left > 0 {
            add(next.load(as: UInt8.self))
            next += 1
            left -= 1
        }
    }

    /// The digest of all bytes so far.
    public var value: UInt64 {
        var hash = BodyDigest.mixed(state, pending)
        hash = BodyDigest.mixed(hash, byteCount)
        hash = BodyDigest.mixed(hash, 0)
        return hash
    }

    private mutating func add(_ byte: UInt8) {
        pending |= UInt64(byte) &<< UInt64(pendingCount &* 8)
        pendingCount &+= 1
        guard pendingCount == 8 else { return }
        state = BodyDigest.mixed(state, pending)
        pending = 0
        pendingCount = 0
    }

    private mutating func addWords(_ start: UnsafeRawPointer, byteCount: Int) {
        if UInt(bitPattern: start) & 7 == 0 {
            addAlignedWords(start, byteCount: byteCount)
            return
        }
        // A word is only loaded from an aligned place; copying a block costs less than assembling its words.
        withUnsafeTemporaryAllocation(byteCount: 8192, alignment: 8) { block in
            guard let base = block.baseAddress else { return }
            var position = 0
            while position < byteCount {
                let count = min(8192, byteCount - position)
                base.copyMemory(from: start + position, byteCount: count)
                addAlignedWords(UnsafeRawPointer(base), byteCount: count)
                position += count
            }
        }
    }

    /// Written without calls in the loop, so that it is quick in a debug build as well.
    private mutating func addAlignedWords(_ start: UnsafeRawPointer, byteCount: Int) {
        let words = start.assumingMemoryBound(to: UInt64.self)
        let count = byteCount / 8
        var hash = state
        var index = 0
        while index < count {
            hash = (hash ^ words[index]) &* 0x9fb2_1c65_1e98_df25
            hash ^= hash &>> 29
            index &+= 1
        }
        state = hash
    }

    /// The shift brings the high bits down: a product alone would leave a flip of the top bit there, for the next
    /// such flip to undo.
    private static func mixed(_ hash: UInt64, _ word: UInt64) -> UInt64 {
        let product = (hash ^ word) &* 0x9fb2_1c65_1e98_df25
        return product ^ (product &>> 29)
    }
}
