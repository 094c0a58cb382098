public import Foundation

/// How far a resumable upload has come: what another task or process needs to go on with it.
///
/// It holds what the upload is called at the server, and what the body was: a body that has changed since is not resumed.
/// There is no password, token or header field in it. But what an upload is called at the server may be all that it takes to write
/// to it: a Google Cloud Storage session URI is a secret in itself, and other servers do likewise. Keep checkpoints as you keep
/// credentials.
public struct UploadCheckpoint: Sendable, Hashable, Codable {
    /// When the upload was begun.
    public var creationDate: Date
    /// When the server forgets the upload, if it has said so.
    public var expirationDate: Date? { state.expiration }

    /// Of the format; what has another one is not read.
    var version = Self.currentVersion
    /// Which protocol, by the name that ``ResumableProtocol`` gives it.
    var protocolName: String
    /// Where the upload was addressed to, without user, query and fragment.
    var target: String
    var body: Body
    var state: ResumptionState

    static let currentVersion = 1

    /// What tells one body from another.
    struct Body: Sendable, Hashable, Codable {
        struct File: Sendable, Hashable, Codable {
            var device: UInt64
            var number: UInt64
            var size: Int64
            var seconds: Int64
            var nanoseconds: Int64
        }

        /// In bytes; `nil` for a stream without a length.
        var length: Int64?
        /// The boundary of a form is in it.
        var contentType: String?
        /// The files that it is read from, in order.
        var files: [File]
    }
}

extension UploadCheckpoint.Body.File {
    init(_ status: FileStatus) {
        self.init(
            device: status.file.device,
            number: status.file.number,
            size: status.size,
            seconds: status.modified.seconds,
            nanoseconds: status.modified.nanoseconds
        )
    }
}
