/// Cuts a body into the parts that are sent one after the other, whether its length is known or not. Pure.
struct PartCursor: Sendable {
    enum Next: Equatable {
        /// The body's bytes must be made ready first, to see where it ends.
        case read(from: Int64, count: Int)
        case part(Range<Int64>, isLast: Bool)
    }

    /// The body's length, as soon as it is known.
    private(set) var length: Int64?
    /// How large a part is at most; `nil` for all that is left. It must be set for a body without a length.
    var partSize: Int64?
    /// What is ready of a body without a length.
    private var ready: Range<Int64>?

    /// How large the parts of a body without a length are unless something else is asked for.
    static let usualPartSize: Int64 = 8 << 20
    /// More than any body has, and small enough to be added to.
    private static let largestPartSize: Int64 = 1 << 50

    init(length: Int64?, partSize: Int64?) {
        self.length = length
        self.partSize =
            partSize.map { min(max(1, $0), Self.largestPartSize) } ?? (length == nil ? Self.usualPartSize : nil)
    }

    /// The part that begins at `offset`, which is at most at the body's end.
    ///
    /// - Parameter alignment: what the length of every part but the last one is a multiple of, if the size of parts is.
    func next(at offset: Int64, alignment: Int64 = 1) -> Next {
        if let length {
            let size = partSize.map { wholeMultiple(of: alignment, in: $0) } ?? length
            let end = length - offset > size ? offset + size : length
            return .part(offset..<max(offset, end), isLast: end >= length)
        }
        let size = wholeMultiple(of: alignment, in: partSize ?? Self.usualPartSize)
        // One byte more than the part shows whether it is the last one.
        guard let ready, ready.lowerBound <= offset, ready.upperBound > offset + size else {
            return .read(from: offset, count: Int(clamping: size) + 1)
        }
        return .part(offset..<(offset + size), isLast: false)
    }

    /// The bytes up to `end`, from where they were asked for, are ready.
    mutating func didRead(from offset: Int64, to end: Int64, isEnd: Bool) {
        ready = offset..<max(offset, end)
        if isEnd { length = end }
    }

    private func wholeMultiple(of alignment: Int64, in size: Int64) -> Int64 {
        max(alignment, size - size % alignment)
    }
}
