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
        case .streamOfKnownLength: .stream(length: Int64(bytes.count)) { AsyncStream(bytes) }
        case .streamOfUnknownLength: .stream { AsyncStream(bytes) }
        }
    }
}

extension AsyncStream<Data> {
    /// The bytes in pieces of 10,000.
    init(_ bytes: Data) {
        self.init { continuation in
            for start in stride(from: 0, to: bytes.count, by: 10_000) {
                continuation.yield(bytes[start..<Swift.min(start + 10_000, bytes.count)])
            }
            continuation.finish()
        }
    }
}
