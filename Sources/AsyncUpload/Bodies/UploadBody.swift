public import Foundation

/// What an upload sends.
///
/// A body is a description: nothing is opened, read or copied before the upload has its turn, and the same body can
/// be sent any number of times, unless it is a stream over a sequence that can be read only once. A length that is known
/// before the first byte goes out is sent as `Content-Length` (RFC 9110 §8.6). Memory does not grow with the length of a
/// file or a stream.
public struct UploadBody: Sendable {
    private enum Storage: Sendable {
        case data(Data)
        case file(URL)
        case stream(StreamRecipe)
        case multipart(MultipartEncoding)
        case failure(UploadError)
    }

    private let storage: Storage

    /// The media type that goes with the body unless the request has a `Content-Type` of its own; `nil` for none.
    ///
    /// Data and files have none: a header that nobody asked for would break a presigned request.
    public let contentType: String?

    /// The media type to send when the request has that one.
    func contentType(replacing given: String) -> String {
        if case .multipart(let encoding) = storage { encoding.contentType(replacing: given) } else { given }
    }

    private init(_ storage: Storage, contentType: String? = nil) {
        self.storage = storage
        self.contentType = contentType
    }

    /// Bytes in memory. They are not copied.
    public static func data(_ data: Data) -> UploadBody {
        UploadBody(.data(data))
    }

    /// A regular file; a symbolic link stands for its target.
    ///
    /// The upload fails with ``UploadError/Code-swift.struct/fileNotFound``,
    /// ``UploadError/Code-swift.struct/permissionDenied`` or ``UploadError/Code-swift.struct/notARegularFile`` before
    /// anything is sent, and with ``UploadError/Code-swift.struct/fileChanged`` as soon as the file's size or
    /// modification time is seen to change while it is sent.
    ///
    /// - Parameter url: a `file:` URL.
    public static func file(_ url: URL) -> UploadBody {
        UploadBody(.file(url))
    }

    /// A value as JSON, with the content type `application/json`.
    ///
    /// The value is encoded at once. If that fails, the upload throws
    /// ``UploadError/Code-swift.struct/bodyNotEncodable`` with the encoder's own error as the underlying one.
    ///
    /// - Parameters:
    ///   - value: what to encode.
    ///   - encoder: how to encode it.
    public static func json(_ value: some Encodable, encoder: JSONEncoder = JSONEncoder()) -> UploadBody {
        do {
            return UploadBody(.data(try encoder.encode(value)), contentType: "application/json")
        } catch {
            let detail = "\(type(of: value))"
            return UploadBody(.failure(UploadError(.bodyNotEncodable, detail: detail, underlying: error)))
        }
    }

    /// The bytes of a body that is in memory, none for any other.
    ///
    /// - Throws: ``UploadError`` when it cannot be sent.
    func bytes() throws -> Data? {
        switch storage {
        case .data(let data): data
        case .failure(let error): throw error
        case .file, .stream, .multipart: nil
        }
    }

    /// Opens the body for sending. A stream is not touched yet.
    ///
    /// - Parameter isPart: whether it is one of many, which do not all stay open.
    /// - Throws: ``UploadError`` when it cannot be sent.
    func open(asPart isPart: Bool = false) throws -> OpenBody {
        switch storage {
        case .data(let data): return .source(DataBodySource(data))
        case .file(let url): return .source(isPart ? try ReopenedFileSource(url) : try FileBodySource(url))
        case .multipart(let encoding): return try encoding.open()
        case .stream(let recipe):
            guard !recipe.isSpent else { throw UploadError(.bodyNotReplayable) }
            return .stream(BodyStream(recipe))
        case .failure(let error): throw error
        }
    }
}

extension UploadBody {
    init(_ encoding: MultipartEncoding) {
        self.init(.multipart(encoding), contentType: encoding.contentType)
    }

    init(_ data: Data, contentType: String) {
        self.init(.data(data), contentType: contentType)
    }

    init(_ recipe: StreamRecipe) {
        if let length = recipe.length, length < 0 {
            self.init(.failure(UploadError(.bodyLengthMismatch, detail: "\(length) is not a length")))
        } else {
            self.init(.stream(recipe))
        }
    }
}
