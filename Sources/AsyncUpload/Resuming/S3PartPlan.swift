/// How a body is cut into the parts of an S3 multipart upload.
///
/// There are 10,000 parts at most, of 5 MiB to 5 GiB each; the last one may be smaller
/// (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html>).
///
/// Parts of a body whose length is not known grow unless their size is given: the first thousand has 8 MiB each, and each
/// further thousand twice as much as the one before, up to a limit, since each part is in memory while it is sent. With 64 MiB
/// that is good for 492 GiB. It depends on nothing but the part's number and the limit, so that another process cuts in the
/// same places.
struct S3PartPlan: Sendable, Equatable {
    /// How large parts are; `nil` for those that grow.
    let partSize: Int64?
    /// How large those are at most that grow.
    let growthLimit: Int64

    static let smallestPart: Int64 = 5 << 20
    static let largestPart: Int64 = 5 << 30
    static let usualPart: Int64 = 8 << 20
    static let usualGrowthLimit: Int64 = 64 << 20
    static let partLimit = 10_000
    private static let stride = 1000

    /// - Parameters:
    ///   - length: the body's; `nil` when it is not known.
    ///   - partSize: what was asked for.
    ///   - memoryLimit: how large parts that grow may be.
    init(length: Int64?, partSize: Int64?, memoryLimit: Int64 = usualGrowthLimit) {
        self.init(partSize.map { max($0, Self.smallestPart) } ?? length.map(Self.suitable), memoryLimit)
    }

    /// Cuts as another process has done.
    init(resumed state: ResumptionState?) {
        self.init(state?.partSize, state?.partSizeLimit ?? Self.usualGrowthLimit)
    }

    private init(_ partSize: Int64?, _ growthLimit: Int64) {
        self.partSize = partSize
        self.growthLimit = min(max(growthLimit, Self.smallestPart), Self.largestPart)
    }

    /// Why the body cannot be cut so; `nil` if it can.
    func complaint(length: Int64?) -> UploadError? {
        if let partSize, partSize < Self.smallestPart || min(partSize, length ?? partSize) > Self.largestPart {
            return UploadError(.bodySizeNotAllowed, detail: "parts of \(partSize) bytes")
        }
        guard let length, start(of: Self.partLimit + 1) < length else { return nil }
        return Self.tooManyParts(length)
    }

    /// - Parameter length: the body's; `nil` when it is not known.
    static func tooManyParts(_ length: Int64?) -> UploadError {
        let bytes = length.map { "\($0) bytes take" } ?? "without a larger partSize or memoryLimit it takes"
        return UploadError(.bodySizeNotAllowed, detail: "\(bytes) more than \(partLimit) parts")
    }

    /// - Parameter number: from 1.
    func size(of number: Int) -> Int64 {
        partSize ?? min(Self.usualPart << min((max(1, number) - 1) / Self.stride, 20), growthLimit)
    }

    /// Where a part begins.
    func start(of number: Int) -> Int64 {
        var (start, size, rest) = (Int64(0), size(of: 1), Int64(max(1, number) - 1))
        // Where parts still grow.
        while partSize == nil, size < growthLimit, rest > Self.stride {
            start += Int64(Self.stride) * size
            rest -= Int64(Self.stride)
            size = min(2 * size, growthLimit)
        }
        let (count, overflows) = rest.multipliedReportingOverflow(by: size)
        return overflows ? .max : start.addingReportingOverflow(count).overflow ? .max : start + count
    }

    /// A part of a body with that length; empty behind its end.
    func range(of number: Int, length: Int64) -> Range<Int64> {
        let start = min(start(of: number), length)
        return start..<(start + min(length - start, size(of: number)))
    }

    /// How many parts a body with that length has, one at least.
    func count(length: Int64) -> Int {
        guard let partSize else {
            var count = 1
            while count <= Self.partLimit, start(of: count + 1) < length { count += 1 }
            return count
        }
        return Int(clamping: max(1, length / partSize + (length % partSize == 0 ? 0 : 1)))
    }

    /// 8 MiB, or as many MiB as it takes to do with 10,000 parts.
    private static func suitable(_ length: Int64) -> Int64 {
        let parts = Int64(partLimit)
        let size = length / parts + (length % parts == 0 ? 0 : 1)
        let step: Int64 = 1 << 20
        return max(usualPart, (size + step - 1) / step * step)
    }
}
