import Foundation

/// Several bodies that are sent as one.
enum CompositeBody {
    /// - Parameter length: that of all pieces together; `nil` when one of them does not know.
    static func joining(_ pieces: [OpenBody], length: Int64?) -> OpenBody {
        let sources = pieces.compactMap { piece in
            if case .source(let source) = piece { source } else { nil as (any BodySource)? }
        }
        if sources.count == pieces.count { return .source(joining(sources)) }
        let isReplayable = pieces.allSatisfy { piece in
            if case .stream(let stream) = piece { stream.isReplayable } else { true }
        }
        let recipe = StreamRecipe(length: length, isReplayable: isReplayable) { sink in
            for piece in pieces {
                switch piece {
                case .source(let source): try await StreamRecipe.send(source, to: sink)
                case .stream(let stream): try await send(stream, to: sink)
                }
            }
        }
        return .stream(BodyStream(recipe))
    }

    /// What is small and in memory is put together there, so that no transport needs a file for it.
    private static func joining(_ sources: [any BodySource]) -> any BodySource {
        var whole = Data()
        for source in sources {
            guard case .data(let data) = source.contents, whole.count + data.count <= smallSize else {
                return CompositeBodySource(sources)
            }
            whole += data
        }
        return DataBodySource(whole)
    }

    private static let smallSize = 64 << 10

    /// Each stream keeps to its own length: what one has too much another one must not have too little.
    private static func send(_ stream: BodyStream, to sink: any BodySink) async throws {
        let checked = CheckedSink(sink, length: stream.length)
        try await stream.begin()(checked)
        try checked.finish()
    }
}

/// Hands on what a stream of a said length gives, and no more than that.
private final class CheckedSink: BodySink {
    private let sink: any BodySink
    private let check: Locked<LengthCheck>

    init(_ sink: any BodySink, length: Int64?) {
        self.sink = sink
        check = Locked(LengthCheck(length))
    }

    func write(_ bytes: Data) async throws {
        try check.withLock { try $0.take(bytes.count) }
        try await sink.write(bytes)
    }

    func finish() throws {
        try check.withLock { try $0.finish() }
    }
}

/// Several sources, one behind the other.
final class CompositeBodySource: BodySource {
    private let sources: [any BodySource]
    /// Where each source begins, and where the last one ends.
    private let offsets: [Int64]
    /// Those without bytes: nobody reads them, but they must not get any either.
    private let emptySources: [(offset: Int64, source: any BodySource)]

    /// - Parameter sources: whose lengths together are no more than `Int64.max`.
    init(_ sources: [any BodySource]) {
        var end: Int64 = 0
        let placed = sources.map { source in
            defer { end += source.length }
            return (offset: end, source: source)
        }
        emptySources = placed.filter { $0.source.length == 0 }
        let others = placed.filter { $0.source.length > 0 }
        self.sources = others.map(\.source)
        offsets = others.map(\.offset) + [end]
    }

    var length: Int64 { offsets.last ?? 0 }

    var files: [FileStatus] { (sources + emptySources.map(\.source)).flatMap(\.files) }

    var contents: BodyContents { .composite }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
        guard offset >= 0, offset < length, !buffer.isEmpty else { return 0 }
        var index = index(at: offset)
        var count = 0
        while count < buffer.count, index < sources.count {
            let position = offset + Int64(count)
            let wanted = Self.wanted(buffer.count - count, of: offsets[index]..<offsets[index + 1], at: position)
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[count..<(count + wanted)])
            let more = try sources[index].read(into: piece, at: position - offsets[index])
            // A source has as many bytes as it said, or throws.
            guard more > 0 else { throw UploadError(.bodyUnreadable, detail: "a part ended early") }
            count += more
            guard position + Int64(more) == offsets[index + 1] else { break }
            index += 1
        }
        let passed = offset...(offset + Int64(count))
        for (offset, source) in emptySources where passed.contains(offset) { try source.checkUnchanged() }
        return count
    }

    private static let pageSize: Int64 = 4096

    /// How much to read of a source that takes up a range, into so much room: what is read next of a file begins with a page
    /// again, however long what is before the file. From elsewhere the system copies at half the speed.
    private static func wanted(_ room: Int, of range: Range<Int64>, at position: Int64) -> Int {
        let rest = range.upperBound - position
        guard Int64(room) < rest else { return Int(rest) }
        let excess = (position + Int64(room) - range.lowerBound) % pageSize
        return excess < room ? room - Int(excess) : room
    }

    /// The source with that byte, found by halving.
    private func index(at offset: Int64) -> Int {
        var range = 0..<sources.count
        while range.count > 1 {
            let middle = range.lowerBound + range.count / 2
            range = offsets[middle] <= offset ? middle..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    func checkUnchanged() throws {
        for source in sources + emptySources.map(\.source) { try source.checkUnchanged() }
    }

    func checkNameUnchanged() throws {
        for source in sources + emptySources.map(\.source) { try source.checkNameUnchanged() }
    }
}
