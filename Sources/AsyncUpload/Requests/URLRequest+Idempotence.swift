import Foundation

extension URLRequest {
    /// Whether sending the request twice has the effect of sending it once: by its method (RFC 9110 §9.2.2), or since a key
    /// tells the server. Others are never repeated without being asked, since the server may have acted on the first one.
    ///
    /// A part of something (RFC 9110 §14.5) belongs where the server is, which the first one may have changed.
    var isIdempotent: Bool {
        guard value(forHTTPHeaderField: "Content-Range") == nil else { return false }
        if ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"].contains(httpMethod ?? "GET") { return true }
        return value(forHTTPHeaderField: IdempotencyKey.fieldName)?.isEmpty == false
    }
}

extension UploadError {
    /// The connection was lost when the server may have acted on the request.
    static let lostAfterSending = UploadError(
        .connectionLostDuringBody,
        detail: "the server may have acted on the request"
    )
}
