import Foundation

@testable import AsyncUpload

/// Gives the first request of an upload, and no other, little time: the fault that it meets is over soon, and a slow machine
/// does not make failures of the attempts that are well.
struct Impatience: UploadInterceptor {
    /// Given by a field of the request, in seconds.
    static let fieldName = "X-Patience"

    func prepare(_ request: URLRequest, attempt: Int) async throws -> URLRequest {
        let text = attempt == 1 ? request.value(forHTTPHeaderField: Self.fieldName) : nil
        guard let seconds = text.flatMap(Double.init) else { return request }
        var request = request
        request.timeoutInterval = seconds
        return request
    }
}
