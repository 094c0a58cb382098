import AsyncUpload
import Foundation
import LoopbackServer
import Testing

extension OverTheWire {
    /// What the events of an upload promise (promises 1 to 5).
    @Suite struct Events {
        @Test("C04: small bodies have one fixed sequence of events", arguments: [0, 1, 10], BodyKind.allCases)
        func smallBodies(count: Int, kind: BodyKind) async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.accept(keeping: true))
            let seen = try await lane.upload(bytes(count), as: kind, to: "/small")
            #expect(seen.fractions == [0, 1] || seen.fractions == [1])
            #expect(seen.response == .some(nil))
            #expect(lane.server.requests.map(\.body) == [bytes(count)])
        }

        @Test("The body of the response comes with the last event", arguments: BodyKind.allCases)
        func responseBody(kind: BodyKind) async throws {
            let lane = try Lane()
            lane.server.route("PUT", "/*", LoopbackServer.accept(status: 201, digesting: true, body: "stored"))
            let data = bytes(3_000_000)
            let seen = try await lane.upload(data, as: kind, to: "/x")
            #expect(seen.text == "stored")
            #expect(lane.server.requests.map(\.digest) == [BodyDigest.of(data)])
        }
    }
}
