import AsyncUpload
import Foundation
import Testing

/// The ways in which the same bytes can be given to an upload.
enum Body: String, CaseIterable, CustomTestStringConvertible {
    case data, file
    case streamOfKnownLength, streamOfUnknownLength

    var testDescription: String { rawValue }

    /// - Parameter folder: takes the file, if it is one.
    func of(_ bytes: Data, in folder: TemporaryFolder) throws -> UploadBody {
        switch self {
        case .data: .data(bytes)
        case .file: .file(try folder.write(UUID().uuidString, bytes))
        case .streamOfKnownLength: .stream(length: Int64(bytes.count)) { Self.pieces(of: bytes) }
        case .streamOfUnknownLength: .stream { Self.pieces(of: bytes) }
        }
    }

    private static func pieces(of bytes: Data) -> AsyncStream<Data> {
        AsyncStream { continuation in
            for start in stride(from: 0, to: bytes.count, by: 10_000) {
                continuation.yield(bytes[start..<min(start + 10_000, bytes.count)])
            }
            continuation.finish()
        }
    }
}
