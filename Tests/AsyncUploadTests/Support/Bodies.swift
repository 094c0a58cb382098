import Foundation
import Testing

@testable import AsyncUpload

/// The kinds of body that every rule holds for.
enum BodyKind: String, CaseIterable, CustomTestStringConvertible {
    case data, file
    /// A stream that can be made anew, with its length and without.
    case sizedStream, stream

    var testDescription: String { rawValue }

    /// Whether the length is known before the body is.
    var hasLength: Bool { self != .stream }

    /// Whether the body goes out with a `Content-Length`.
    var isSentWithLength: Bool { hasLength || Carrier.underTest != .automatic }

    /// The kinds whose upload may end before the body is through; see ``KnownIssue/nativeFileEndsEarly``.
    static let endingEarly = Carrier.underTest == .native ? [.data] : allCases

    /// The same with each carrier.
    static let endingEarlyByCarrier: [(Carrier, BodyKind)] = [
        (.automatic, .data), (.automatic, .file), (.automatic, .sizedStream), (.automatic, .stream),
        (.streamed, .data), (.streamed, .file), (.streamed, .stream), (.native, .data),
    ]

    /// A body of this kind with the given bytes, for as long as the scratch folder exists.
    func body(_ data: Data, in scratch: ScratchFolder) throws -> UploadBody {
        switch self {
        case .data: .data(data)
        case .file: .file(try scratch.file(data))
        case .sizedStream: .stream(length: Int64(data.count)) { pieces(of: data) }
        case .stream: .stream { pieces(of: data) }
        }
    }
}

extension BodyKind {
    /// A body of this kind that no server's system takes in unread.
    func largeBody(in scratch: ScratchFolder) throws -> UploadBody {
        let piece = bytes(100_000)
        let source = Pieces { $0 < 10_000 ? piece : nil }
        return switch self {
        case .data: .data(bytes(30_000_000))
        case .file: .file(try scratch.sparseFile(1 << 30))
        case .sizedStream: .stream(length: 1_000_000_000) { source }
        case .stream: .stream { source }
        }
    }
}

/// Data in pieces, as a sequence gives them.
func pieces(of data: Data, size: Int = 50_000) -> Pieces {
    Pieces { number in
        let start = data.startIndex + number * size
        return start < data.endIndex ? data[start..<min(start + size, data.endIndex)] : nil
    }
}

/// A sequence whose pieces are made one by one when they are asked for; `nil` is the end.
struct Pieces: AsyncSequence, Sendable {
    let make: @Sendable (Int) async throws -> Data?

    struct AsyncIterator: AsyncIteratorProtocol {
        let make: @Sendable (Int) async throws -> Data?
        var number = 0

        mutating func next() async throws -> Data? {
            defer { number += 1 }
            return try await make(number)
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(make: make) }
}

/// Bytes that repeat nowhere nearby, so that a piece that is lost, doubled or moved is noticed.
func bytes(_ count: Int, seed: UInt64 = 1) -> Data {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    var data = Data(count: (count + 7) / 8 * 8)
    data.withUnsafeMutableBytes { buffer in
        var offset = 0
        while offset < buffer.count {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            buffer.storeBytes(of: state, toByteOffset: offset, as: UInt64.self)
            offset += 8
        }
    }
    return data.prefix(count)
}

/// A folder of its own that is removed with the last reference to it.
final class ScratchFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("AsyncUploadTests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    func path(_ name: String = UUID().uuidString) -> URL {
        url.appendingPathComponent(name)
    }

    func file(_ data: Data, name: String = UUID().uuidString) throws -> URL {
        let file = path(name)
        try data.write(to: file)
        return file
    }

    /// A file that takes no room on the disk; its bytes are zero.
    func sparseFile(_ count: UInt64) throws -> URL {
        let file = try file(Data())
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: count)
        try handle.close()
        return file
    }
}
