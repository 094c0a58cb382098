import AsyncUpload
import Foundation

/// A way to upload a file.
enum Contestant: String, CaseIterable {
    case asyncUpload = "AsyncUpload"
    case foundation = "Foundation"

    /// Uploads a file to a URL once; fails unless the server accepts it.
    typealias Sender = @Sendable (_ file: URL, _ url: URL) async throws -> Void

    var explanation: String {
        switch self {
        case .asyncUpload: "Uploader.response(for:fromFile:)"
        case .foundation: "URLSession.upload(for:fromFile:)"
        }
    }

    /// Makes one uploader, or one session, to be used for any number of files.
    func makeSender(inFlight: Int) -> Sender {
        switch self {
        case .asyncUpload:
            let uploader = Uploader { $0.maximumUploadsInFlight = inFlight }
            return { file, url in
                let response = try await uploader.response(for: .put(to: url), fromFile: file)
                guard response.statusCode == 200 else { throw URLError(.badServerResponse) }
            }
        case .foundation:
            let configuration = URLSessionConfiguration.default
            configuration.httpMaximumConnectionsPerHost = inFlight
            let session = URLSession(configuration: configuration)
            return { file, url in
                let (_, response) = try await session.upload(for: .put(to: url), fromFile: file)
                guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
            }
        }
    }
}

extension URLRequest {
    static func put(to url: URL) -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        return request
    }
}
