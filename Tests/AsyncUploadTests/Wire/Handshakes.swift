import Foundation
import Testing

@testable import AsyncUpload

extension OverTheWire {
    @Suite("TLS that does not come about", .enabled(if: Platform.usesFoundationNetworking, "the words are libcurl's"))
    struct Handshakes {
        private func failure(_ carrier: Carrier, _ conduct: RawListener.Conduct) async throws -> UploadError {
            let listener = try RawListener(conduct)
            let uploader = Uploader(carrier) { $0.timeoutIntervalForConnection = conduct == .staysSilent ? 0.5 : 60 }
            let request = request("https://127.0.0.1:\(listener.port)/x", "POST")
            let seen = await Observation(uploader.upload(for: request, from: bytes(10)))
            return try #require(seen.error as? UploadError)
        }

        @Test(
            "What is cut off is no connection, nonsense a failure of TLS, and nothing was sent in any case",
            arguments: [
                (RawListener.Conduct.resets, UploadError.Code.cannotConnect), (.closes, .cannotConnect),
                (.talksNonsense, .secureConnectionFailed), (.staysSilent, .timedOut),
            ]
        )
        func automatic(conduct: RawListener.Conduct, code: UploadError.Code) async throws {
            let error = try await failure(.automatic, conduct)
            #expect(error.code == code)
            #expect(!error.mayHaveReachedServer)
        }

        @Test(
            "URLSession cannot tell when a connection was reset, nor what was waited for",
            arguments: [
                (RawListener.Conduct.resets, UploadError.Code.connectionLostBeforeBody), (.closes, .cannotConnect),
                (.talksNonsense, .secureConnectionFailed), (.staysSilent, .timedOut),
            ]
        )
        func urlSession(conduct: RawListener.Conduct, code: UploadError.Code) async throws {
            let error = try await failure(.streamed, conduct)
            #expect(error.code == code)
            #expect(error.mayHaveReachedServer == [.resets, .staysSilent].contains(conduct))
        }
    }
}
