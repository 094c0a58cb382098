import AsyncUpload
import Foundation
import Testing

extension NginxServer {
    /// Uploads a little and checks that it fails: nothing is stored, and nothing is tried a second time.
    ///
    /// - Parameter connections: how many are made.
    func refusal(
        by uploader: Uploader,
        of request: URLRequest,
        connections: Int = 1,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> UploadError {
        var error: UploadError?
        let count = try await self.connections {
            error = await #expect(throws: UploadError.self, sourceLocation: sourceLocation) {
                try await uploader.response(for: request, from: Data("a secret".utf8))
            }
        }
        #expect(count == connections, sourceLocation: sourceLocation)
        #expect(storedPaths.isEmpty, sourceLocation: sourceLocation)
        #expect(error?.attempts == 1, sourceLocation: sourceLocation)
        return try #require(error, sourceLocation: sourceLocation)
    }
}
