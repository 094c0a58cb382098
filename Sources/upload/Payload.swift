import AsyncUpload
import Foundation

/// What is sent, once everything that has to be in memory is.
enum Payload: Sendable {
    case file(String)
    case bytes(Data)
    case standardInput
    case form([FormPart])

    var body: UploadBody {
        switch self {
        case .file(let path): .file(FilePath.url(path))
        case .bytes(let data): .data(data)
        case .standardInput: StandardInput().body
        case .form(let parts): .multipart(MultipartForm(parts))
        }
    }

    /// As far as it is known beforehand.
    var size: Int64? {
        switch self {
        case .file(let path): FilePath.size(path)
        case .bytes(let data): Int64(data.count)
        case .standardInput: StandardInput().length
        case .form: nil
        }
    }

    /// How much it is, in words.
    var extent: String {
        if case .form(let parts) = self { return parts.count == 1 ? "1 part" : "\(parts.count) parts" }
        return size.map { "\($0) bytes" } ?? "of unknown length"
    }
}

extension Source {
    /// Reads what has to be read first: the pieces of `-d`, and JSON from standard input, which is not large, and whose
    /// length many servers want to know.
    ///
    /// - Throws: what ``Origin/bytes()`` throws.
    func payload(_ options: Options) async throws -> Payload {
        switch content {
        case .file(let path): .file(path)
        case .bytes(let data): .bytes(data)
        case .standardInput: options.sendsJSON ? .bytes(try await Origin.standardInput.bytes()) : .standardInput
        case .form(let parts): .form(parts)
        case .data(let pieces): try await DataPiece.payload(pieces)
        }
    }
}
