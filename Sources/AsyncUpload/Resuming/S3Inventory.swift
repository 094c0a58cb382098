/// The parts of an S3 multipart upload that the server has.
struct S3Inventory: Sendable {
    private let plan: S3PartPlan
    /// The body's; `nil` when it is not known.
    private let length: Int64?
    private(set) var parts: [Int: ResumptionState.Part] = [:]
    private(set) var byteCount: Int64 = 0
    /// The sizes that the server has named, of a body without a length.
    private var listedSizes: [Int: Int64] = [:]

    /// - Parameter parts: what an earlier process has stored.
    init(_ plan: S3PartPlan, length: Int64?, parts: [Int: ResumptionState.Part] = [:]) {
        self.plan = plan
        self.length = length
        let limit = length.map(plan.count) ?? S3PartPlan.partLimit
        self.parts = parts.filter { number, part in
            (1...limit).contains(number) && part.entityTag?.isEmpty == false
        }
    }

    mutating func store(_ number: Int, _ entityTag: String, size: Int64) {
        parts[number] = ResumptionState.Part(entityTag: entityTag)
        byteCount += size
    }

    /// Takes in what the server has. The presigned request gives the list's first page only; what is not on that is left as
    /// it was.
    mutating func adopt(_ listing: S3Answer.Listing) {
        let lastListed = listing.parts.map(\.number).max() ?? 0
        parts = parts.filter { listing.isTruncated && $0.key > lastListed }
        for part in listing.parts where fits(part) {
            parts[part.number] = ResumptionState.Part(entityTag: part.entityTag)
            if length == nil { listedSizes[part.number] = part.size }
        }
    }

    /// The last part of a body without a length may be of any size.
    private func fits(_ part: S3Answer.ListedPart) -> Bool {
        guard (1...S3PartPlan.partLimit).contains(part.number) else { return false }
        guard let length else { return part.size > 0 && part.size <= plan.size(of: part.number) }
        return part.number <= plan.count(length: length) && part.size == size(of: part.number, length)
    }

    private func size(of number: Int, _ length: Int64) -> Int64 {
        let range = plan.range(of: number, length: length)
        return range.upperBound - range.lowerBound
    }

    /// Counts the parts that there are, and forgets those that cannot be used.
    ///
    /// - Returns: the last part of a body without a length, whose size has to be seen before it counts.
    mutating func settle() -> Int? {
        if let length {
            byteCount = parts.keys.reduce(0) { $0 + size(of: $1, length) }
            return nil
        }
        var last = 0
        while parts[last + 1] != nil, last == 0 || isWhole(last) { last += 1 }
        parts = parts.filter { $0.key <= last }
        byteCount = plan.start(of: max(1, last))
        return last > 0 ? last : nil
    }

    private func isWhole(_ number: Int) -> Bool {
        listedSizes[number].map { $0 == plan.size(of: number) } ?? true
    }

    /// The part that ``settle()`` has named has that size by what the body has there; it is forgotten if the server has
    /// another one.
    mutating func verify(_ number: Int, size: Int64) {
        if size > 0, listedSizes[number].map({ $0 == size }) ?? true {
            byteCount += size
        } else {
            parts[number] = nil
        }
    }
}
