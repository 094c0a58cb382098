import AsyncUpload
import Foundation

/// A way to upload a file.
enum Contestant: String, CaseIterable {
    case asyncUpload = "AsyncUpload"
    case foundation = "Foundation"

    var explanation: String {
        switch self {
        case .asyncUpload: "Uploader.response(for:fromFile:)"
        case .foundation: "URLSession.upload(for:fromFile:)"
        }
    }

    /// Uploads the file once; fails unless the server accepts it.
    func upload(_ file: URL, to url: URL) async throws {
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        switch self {
        case .asyncUpload:
            _ = try await Uploader().response(for: request, fromFile: file)
        case .foundation:
            let (_, response) = try await URLSession.shared.upload(for: request, fromFile: file)
            guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
        }
    }
}
