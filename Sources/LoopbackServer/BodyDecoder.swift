import Foundation

/// How a body's end is told.
enum BodyFraming: Sendable {
    case length(Int64)
    case chunked
}

/// Finds the body's bytes among the bytes on the wire.
struct BodyDecoder {
    private enum State {
        case fixed(Int64)
        case chunkSize, chunk(Int64), chunkEnd
        case trailers
        case complete
        case failed(String)
    }

    private static let lineLimit = 8 << 10
    private static let trailerLimit = 64 << 10

    private var state: State
    private var trailerByteCount = 0

    init(_ framing: BodyFraming) {
        switch framing {
        case .length(0): state = .complete
        case .length(let count): state = .fixed(count)
        case .chunked: state = .chunkSize
        }
    }

    var isComplete: Bool {
        if case .complete = state { true } else { false }
    }

    var hasKnownLength: Bool {
        if case .fixed = state { true } else { false }
    }

    /// How many bytes may be read without reading past the body, as far as that is known.
    var readLimit: Int {
        if case .fixed(let remaining) = state { Int(clamping: remaining) } else { Int.max }
    }

    /// Takes note of body bytes that were read elsewhere, no more than `readLimit`; only for a body whose length is known.
    mutating func skip(_ count: Int) {
        guard case .fixed(let remaining) = state else { return }
        state = remaining == Int64(count) ? .complete : .fixed(remaining - Int64(count))
    }

    /// Takes framing, then body bytes from the start of `input`: first `framing`, then `body` of them.
    /// Both are 0 when nothing can be done without more input.
    mutating func take(
        from input: UnsafeRawBufferPointer,
        atMost limit: Int
    ) throws -> (framing: Int, body: Int) {
        var position = 0
        while true {
            let rest = input[position...]
            switch state {
            case .complete:
                return (position, 0)
            case .failed(let reason):
                throw LoopbackError.malformed(reason)
            case .fixed(let remaining):
                let count = min(Int(clamping: remaining), rest.count, limit)
                state = remaining == Int64(count) ? .complete : .fixed(remaining - Int64(count))
                return (position, count)
            case .chunk(let remaining):
                let count = min(Int(clamping: remaining), rest.count, limit)
                state = remaining == Int64(count) ? .chunkEnd : .chunk(remaining - Int64(count))
                return (position, count)
            case .chunkSize, .chunkEnd, .trailers:
                guard let line = try line(in: rest) else { return (position, 0) }
                position = line.endIndex + 2
                try advance(over: line)
            }
        }
    }

    /// The line at the start of `input`, without its CR LF; nil if it is not there in full.
    private mutating func line(in input: Slice<UnsafeRawBufferPointer>) throws -> Slice<UnsafeRawBufferPointer>? {
        // Told at the first wrong byte: no line feed may ever come.
        if case .chunkEnd = state, !"\r\n".utf8.starts(with: input.prefix(2)) { try fail("chunk longer than its size") }
        guard let end = input.prefix(Self.lineLimit).firstIndex(of: UInt8(ascii: "\n")) else {
            if input.count >= Self.lineLimit { try fail("line too long") }
            return nil
        }
        guard end > input.startIndex, input[end - 1] == UInt8(ascii: "\r") else { try fail("bare line feed") }
        return input[..<(end - 1)]
    }

    private mutating func advance(over line: Slice<UnsafeRawBufferPointer>) throws {
        switch state {
        case .chunkSize:
            let size = try size(in: line)
            state = size == 0 ? .trailers : .chunk(size)
        case .chunkEnd:
            state = .chunkSize
        case .trailers where line.isEmpty:
            state = .complete
        default:
            trailerByteCount += line.count + 2
            guard trailerByteCount <= Self.trailerLimit else { try fail("trailers too long") }
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
                line[..<colon].allSatisfy(isTokenByte)
            else { try fail("bad trailer") }
        }
    }

    private mutating func size(in line: Slice<UnsafeRawBufferPointer>) throws -> Int64 {
        let digits = line.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        // Only digits: the standard library would take a sign, too.
        guard !digits.isEmpty, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let size = Int64(latin1(digits), radix: 16)
        else { try fail("bad chunk size") }
        guard let next = line[digits.endIndex...].first(where: { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") })
        else { return size }
        guard next == UInt8(ascii: ";") else { try fail("bad chunk size") }
        return size
    }

    private mutating func fail(_ reason: String) throws -> Never {
        state = .failed(reason)
        throw LoopbackError.malformed(reason)
    }
}
