import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

extension OverTheWire {
    @Suite("Whether a failed request can have reached the server") struct Reach {
        @Test("Not where nobody listens and where there is no host", arguments: BodyKind.allCases)
        func unreachable(kind: BodyKind) async throws {
            let lane = try Lane()
            let body = try kind.body(bytes(10), in: lane.scratch)
            lane.server.stop()
            for address in [lane.request("/x").url?.absoluteString ?? "", "http://host.invalid/x"] {
                let seen = await Observation(lane.uploader.upload(for: request(address, "POST"), from: body))
                #expect((seen.error as? UploadError)?.mayHaveReachedServer == false)
            }
        }

        @Test(
            "It can where it was dropped, refused or never answered",
            arguments: ["/dropped", "/refused", "/unanswered"]
        )
        func reached(path: String) async throws {
            let lane = try Lane { $0.timeoutIntervalForResponse = 0.3 }
            lane.server.route(nil, "/dropped") { exchange in
                try exchange.readBody()
                exchange.close()
            }
            lane.server.route(nil, "/refused", LoopbackServer.accept(status: 503))
            lane.server.route(nil, "/unanswered", LoopbackServer.neverAnswer)
            let seen = try await lane.upload(bytes(10), as: .data, to: path, method: "POST")
            #expect((seen.error as? UploadError)?.mayHaveReachedServer == true)
        }

        @Test("It can on a connection that was used before, too")
        func reusedConnection() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/first", LoopbackServer.sink)
            lane.server.route(nil, "/second") { exchange in
                try exchange.readBody()
                exchange.close()
            }
            #expect(try await lane.upload(bytes(10), as: .data, to: "/first", method: "POST").response != nil)
            let seen = try await lane.upload(bytes(10), as: .data, to: "/second", method: "POST")
            #expect(seen.code?.isConnectionLoss == true)
            #expect((seen.error as? UploadError)?.mayHaveReachedServer == true)
            #expect(lane.server.requests.filter(\.isComplete).map(\.path) == ["/first", "/second"])
            #expect(Set(lane.server.requests.filter(\.isComplete).map(\.connection)).count == 1)
        }
    }
}
