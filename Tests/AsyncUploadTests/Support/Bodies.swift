import Foundation
import Testing

@testable import AsyncUpload

/// The kinds of body that every rule holds for.
enum BodyKind: String, CaseIterable, CustomTestStringConvertible {
    case data, file

    var testDescription: String { rawValue }

    /// The kinds whose upload may end before the body is through; see ``KnownIssue/nativeFileEndsEarly``.
    static let endingEarly = Carrier.underTest == .native ? [.data] : allCases

    /// The same with each carrier.
    static let endingEarlyByCarrier: [(Carrier, BodyKind)] = [
        (.automatic, .data), (.automatic, .file), (.streamed, .data), (.streamed, .file), (.native, .data),
    ]

    /// A body of this kind with the given bytes, for as long as the scratch folder exists.
    func body(_ data: Data, in scratch: ScratchFolder) throws -> UploadBody {
        switch self {
        case .data: .data(data)
        case .file: .file(try scratch.file(data))
        }
    }
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
