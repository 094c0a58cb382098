import Foundation
import Testing

@testable import AsyncUpload

/// An uploader over a scripted transport, with one attempt unless told otherwise: what a test of the driver starts from.
struct FakeLane {
    let fake: FakeTransport
    let uploader: Uploader

    init(
        _ scripts: [FakeTransport.Script] = [],
        environment: DriverEnvironment = .system,
        _ configure: (inout Uploader.Configuration) -> Void = { _ in }
    ) {
        var configuration = Uploader.Configuration()
        configuration.retry = .none
        configure(&configuration)
        let fake = FakeTransport(scripts)
        self.fake = fake
        uploader = Uploader(configuration: configuration, environment: environment) { fake }
    }

    init(
        _ scripts: [FakeTransport.Step]...,
        environment: DriverEnvironment = .system,
        configure: (inout Uploader.Configuration) -> Void = { _ in }
    ) {
        self.init(scripts.map { FakeTransport.Script(steps: $0) }, environment: environment, configure)
    }

    /// A request to the first origin.
    func request(_ path: String = "/a", _ method: String = "PUT") -> URLRequest {
        AsyncUploadTests.request("http://a.test\(path)", method)
    }

    /// Uploads data and expects an error of ours.
    func failure(
        _ data: Data = bytes(1000),
        method: String = "PUT",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> UploadError {
        let error = await #expect(throws: UploadError.self, sourceLocation: sourceLocation) {
            try await uploader.response(for: request("/a", method), from: data)
        }
        return try #require(error, sourceLocation: sourceLocation)
    }
}
