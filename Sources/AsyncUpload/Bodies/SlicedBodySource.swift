import Foundation

/// A part of a body.
final class SlicedBodySource: BodySource {
    private let source: any BodySource
    private let range: Range<Int64>

    /// - Parameter range: what is beyond the body's end is left out.
    init(_ source: any BodySource, _ range: Range<Int64>) {
        self.source = source
        self.range = range.clamped(to: 0..<max(0, source.length))
    }

    /// The part of a body, or the body itself where that is all of it.
    static func slice(_ source: any BodySource, _ range: Range<Int64>) -> any BodySource {
        range == 0..<source.length ? source : SlicedBodySource(source, range)
    }

    var length: Int64 { range.upperBound - range.lowerBound }

    var files: [FileStatus] { source.files }

    var contents: BodyContents {
        guard case .data(let data) = source.contents else { return .composite }
        let start = data.startIndex + Int(range.lowerBound)
        return .data(data[start..<(start + Int(length))])
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
        let wanted = Int(min(Int64(buffer.count), length - offset))
        guard offset >= 0, wanted > 0 else { return 0 }
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
        return try source.read(into: part, at: range.lowerBound + offset)
    }

    func checkUnchanged() throws { try source.checkUnchanged() }

    func checkNameUnchanged() throws { try source.checkNameUnchanged() }
}
