import Foundation

extension URLRequest {
    /// Whether sending the request twice has the effect of sending it once (RFC 9110 §9.2.2). Others are never repeated
    /// without being asked, since the server may have acted on the first one.
    var isIdempotent: Bool {
        ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"].contains(httpMethod ?? "GET")
    }
}

extension UploadError {
    /// The connection was lost when the server may have acted on the request.
    static let lostAfterSending = UploadError(
        .connectionLostDuringBody,
        detail: "the server may have acted on the request"
    )
}
