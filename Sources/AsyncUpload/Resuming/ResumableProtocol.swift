public import Foundation

/// A protocol by which an upload that was interrupted goes on where it was.
public struct ResumableProtocol: Sendable {
    enum Kind: Sendable {
        case tus(TusOptions)
        case ietf(ResumableDraftOptions)
        case gcs(GCSOptions)
        case s3Multipart(S3MultipartOptions)

        /// As checkpoints and people call it.
        var name: String {
            switch self {
            case .tus: "tus"
            case .ietf: "ietf"
            case .gcs: "gcs"
            case .s3Multipart: "s3"
            }
        }
    }

    let kind: Kind

    /// What the upload's checkpoint is called in the store.
    ///
    /// `nil` for a name that is made of the protocol, the upload's address and the path of its file. Bodies that are no file have none then, and
    /// cannot be resumed by another task or process: nobody could tell that they are the same. Who gives a name says that bodies with this name
    /// are the same; only their lengths, types and files are compared.
    public var checkpointIdentifier: String?

    /// tus 1.0.0 (<https://tus.io/protocols/resumable-upload>): the request is addressed to the server's creation URL.
    public static func tus(_ options: TusOptions = TusOptions()) -> ResumableProtocol {
        ResumableProtocol(kind: .tus(options))
    }

    /// "Resumable Uploads for HTTP" of the IETF (draft-ietf-httpbis-resumable-upload): the request is what it would be without it.
    public static func ietf(_ options: ResumableDraftOptions = ResumableDraftOptions()) -> ResumableProtocol {
        ResumableProtocol(kind: .ietf(options))
    }

    /// Google Cloud Storage's resumable sessions: the request starts one, or is addressed to one that was started already.
    public static func gcs(_ options: GCSOptions = GCSOptions()) -> ResumableProtocol {
        ResumableProtocol(kind: .gcs(options))
    }

    /// Amazon S3's multipart uploads: the request is a presigned PUT of the whole object, which small bodies are sent by.
    public static func s3Multipart(_ options: S3MultipartOptions) -> ResumableProtocol {
        ResumableProtocol(kind: .s3Multipart(options))
    }
}

/// How tus is spoken.
public struct TusOptions: Sendable {
    /// An extension of tus 1.0.0.
    public enum Extension: String, Sendable, Hashable, CaseIterable {
        case creation
        case creationDeferLength = "creation-defer-length"
        case creationWithUpload = "creation-with-upload"
        case expiration
        case checksum
        case checksumTrailer = "checksum-trailer"
        case termination
        case concatenation
        case concatenationUnfinished = "concatenation-unfinished"
    }

    /// What the server is told of the upload (`Upload-Metadata`), such as `filename` and `filetype`. Keys are ASCII, without
    /// spaces and commas.
    ///
    /// Unless you set `filetype`, it is the body's `Content-Type`, if there is one: that of the request or of the body itself, such as
    /// that of a form with its boundary. tus has no other place for it.
    public var metadata: [String: String] = [:]

    /// How many bytes one request carries at most; `nil` for all that are left. Bodies without a length are sent in parts of 8 MiB
    /// unless it is set.
    public var partSize: Int64?

    /// How many parts are sent at the same time, each as an upload of its own, to be put together in the end (`concatenation`).
    /// 1 unless set. Only for bodies with a length.
    ///
    /// Where the reply to the putting together is lost, it is asked for once more, since tus has no way to look for the outcome: the server may
    /// have the whole twice then.
    public var parallelParts = 1

    /// What the server is known to support; `nil` to ask it where it matters.
    public var extensions: Set<Extension>?

    /// Whether the first bytes go along with the creation, where the server supports that (`creation-with-upload`).
    public var sendsBodyWithCreation = false

    /// As usual.
    public init() {}
}

/// How the IETF's draft is spoken.
public struct ResumableDraftOptions: Sendable {
    /// How an upload is begun.
    public enum Creation: Sendable, Hashable {
        /// With the whole body in one request. The server says in an interim response where to go on if that breaks. A server without
        /// support takes it for a plain upload.
        case optimistic
        /// Without any of it: two requests at least, but an upload that has begun can always be resumed.
        case careful
    }

    /// Which version of the draft: the number in `Upload-Draft-Interop-Version`, from 3 to 8.
    public var interopVersion = 8

    /// `nil` for optimistic where the body has a length.
    public var creation: Creation?

    /// How many bytes one request carries at most; `nil` for all that are left, or what the server wants (`Upload-Limit`). Bodies
    /// without a length are sent in parts of 8 MiB unless it is set.
    public var partSize: Int64?

    /// As usual.
    public init() {}
}

/// How Google Cloud Storage's sessions are spoken.
public struct GCSOptions: Sendable {
    /// A session that was started already, by somebody who may; `nil` to start one with the upload's request.
    ///
    /// It is a secret. It is used character for character.
    public var sessionURI: URL?

    /// How many bytes one request carries at most, rounded down to a multiple of 256 KiB; `nil` for all that are left. Bodies without a
    /// length are sent in parts of 8 MiB unless it is set.
    public var partSize: Int64?

    /// The object's properties as JSON, which go along with the request that starts the session; `nil` for none.
    public var metadata: Data?

    /// As usual.
    public init() {}
}

/// How a multipart upload to Amazon S3 is done. Who may sign its requests, usually the app's server, is asked for each.
public struct S3MultipartOptions: Sendable {
    /// Begins an upload and gives its identifier (`UploadId`).
    public var create: @Sendable () async throws -> String
    /// The presigned PUT request of a part, from 1. Asked for again when the part is sent again.
    public var part: @Sendable (_ uploadIdentifier: String, _ partNumber: Int) async throws -> URLRequest
    /// The presigned POST request that puts the parts together.
    public var complete: @Sendable (_ uploadIdentifier: String) async throws -> URLRequest
    /// The presigned DELETE request that gives the upload up; `nil` if nobody may.
    public var abort: (@Sendable (_ uploadIdentifier: String) async throws -> URLRequest)?
    /// The presigned GET request that lists an upload's parts, by which a resumed upload learns what the server has; `nil` to believe
    /// the checkpoint.
    public var list: (@Sendable (_ uploadIdentifier: String) async throws -> URLRequest)?

    /// How many bytes a part has, 5 MiB at least; `nil` for what suits the body. The last one may be smaller.
    public var partSize: Int64?

    /// How many parts are sent at the same time. A body without a length is sent one part at a time.
    public var parallelParts = 4

    /// How many bytes of a body without a length may be in memory: 64 MiB unless set, 5 MiB at least.
    ///
    /// Each part of a stream is in memory while it is sent. Without a length parts grow with the body up to this limit, since there may be
    /// 10,000 of them: the first thousand has 8 MiB each, each further thousand twice as much. The limit that is set unless you change it does
    /// for streams of up to 492 GiB; 256 MiB do for 1.4 TiB, and 1 GiB for 3.8 TiB. A longer stream fails with
    /// ``UploadError/Code-swift.struct/bodySizeNotAllowed`` once it turns out to be. Parts do not grow if ``partSize`` is set: that, not the limit, is then in
    /// memory, and ten thousand times as much can be sent. The parts of a stream with a length have at least a ten-thousandth of it.
    ///
    /// No more than this is read either to see whether one request is enough, or one part if that is more.
    public var memoryLimit: Int64 = 64 << 20

    /// Bodies with up to so many bytes are sent by the upload's own request: 5 MiB unless set, 0 for none.
    public var singleRequestLimit: Int64 = 5 << 20

    /// - Parameters: see the properties of the same names.
    public init(
        create: @escaping @Sendable () async throws -> String,
        part: @escaping @Sendable (_ uploadIdentifier: String, _ partNumber: Int) async throws -> URLRequest,
        complete: @escaping @Sendable (_ uploadIdentifier: String) async throws -> URLRequest,
        abort: (@Sendable (_ uploadIdentifier: String) async throws -> URLRequest)? = nil,
        list: (@Sendable (_ uploadIdentifier: String) async throws -> URLRequest)? = nil
    ) {
        self.create = create
        self.part = part
        self.complete = complete
        self.abort = abort
        self.list = list
    }
}
