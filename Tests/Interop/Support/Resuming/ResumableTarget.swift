import AsyncUpload
import Foundation
import Testing

/// A place at a server that one body is uploaded to.
struct ResumableTarget: Sendable {
    let request: URLRequest
    let resuming: ResumableProtocol
    /// Where the server speaks S3.
    let object: S3Object
    private let server: ResumableServer
    private let name: String

    /// What the tests care about of a protocol's options.
    struct Options: Sendable {
        var partSize: Int64?
        var parallelParts = 1
        /// tus: whether the first bytes go along with the creation.
        var sendsBodyWithCreation = false
        /// S3: what is sent by one PUT.
        var singleRequestLimit: Int64 = 0
        /// Names the checkpoint.
        var identifier: String?
    }

    /// - Parameters:
    ///   - port: where the way to the server begins.
    init(
        at server: ResumableServer,
        port: UInt16,
        isSecure: Bool = false,
        _ options: Options = Options()
    ) throws {
        self.server = server
        name = UUID().uuidString
        let base = "\(isSecure ? "https" : "http")://127.0.0.1:\(port)"
        let url = try #require(URL(string: base + Self.path(server.kind, name)))
        object = S3Object(server: server, name: name, url: url)
        request = server.kind.isS3 ? try object.request("PUT") : URLRequest(url: url)
        var resuming: ResumableProtocol
        switch server.kind {
        case .resumableUpload, .tuspyserver, .seaweedTus: resuming = .tus(Self.tusOptions(name, options))
        case .gcsEmulator:
            var gcs = GCSOptions()
            gcs.partSize = options.partSize
            resuming = .gcs(gcs)
        case .moto, .seaweedS3: resuming = .s3Multipart(Self.s3Options(object, options))
        }
        resuming.checkpointIdentifier = options.identifier
        self.resuming = resuming
    }

    private static func path(_ kind: ResumableServer.Kind, _ name: String) -> String {
        switch kind {
        // Without the slash tuspyserver does not tell its extensions, and the other one knows nothing.
        case .resumableUpload: "/files"
        case .tuspyserver: "/files/"
        case .gcsEmulator: "/upload/storage/v1/b/uploads/o?uploadType=resumable&name=\(name)"
        case .moto, .seaweedS3: "/uploads/\(name)"
        case .seaweedTus: "/.tus/uploads/\(name)"
        }
    }

    private static func tusOptions(_ name: String, _ options: Options) -> TusOptions {
        var tus = TusOptions()
        tus.partSize = options.partSize
        tus.parallelParts = options.parallelParts
        tus.sendsBodyWithCreation = options.sendsBodyWithCreation
        // tuspyserver answers HEAD by 400 without these.
        tus.metadata = ["filename": name, "filetype": "application/octet-stream"]
        return tus
    }

    private static func s3Options(_ object: S3Object, _ options: Options) -> S3MultipartOptions {
        var s3 = S3MultipartOptions(
            create: { try await object.server.createMultipartUpload(object.name) },
            part: { try object.request("PUT", "partNumber=\($1)&uploadId=\($0)") },
            complete: { try object.request("POST", "uploadId=\($0)") },
            abort: { try object.request("DELETE", "uploadId=\($0)") },
            list: { try object.request("GET", "uploadId=\($0)") }
        )
        s3.partSize = options.partSize
        s3.parallelParts = options.parallelParts
        s3.singleRequestLimit = options.singleRequestLimit
        return s3
    }

    /// The bytes that the server has, once all of them are there.
    func stored(_ response: UploadResponse) async throws -> Data {
        // The last response of an upload by tus is the one to its creation or to a part.
        try await stored(at: response.headers["Location"].flatMap(URL.init(string:)) ?? response.url)
    }

    /// The bytes that the server has, once all of them are there.
    ///
    /// - Parameter url: of an upload by tus.
    func stored(at url: URL?) async throws -> Data {
        try await server.stored(name, url)
    }
}
