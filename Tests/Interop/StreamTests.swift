import AsyncUpload
import Foundation
import Testing

extension Interop {
    /// Streams that are sent while they are made.
    @Suite struct Streams {
        let server: NginxServer

        private struct Fault: Error {}

        init() async throws {
            server = try await NginxServer()
        }

        /// Gives piece after piece, each when the server has the one before.
        private func pieces(
            of bytes: Data,
            pieceSize: Int,
            fault: Fault? = nil
        ) -> AsyncThrowingStream<Data, any Error> {
            let (stream, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
            let producer = Task {
                for end in stride(from: pieceSize, through: bytes.count, by: pieceSize) {
                    continuation.yield(bytes[(end - pieceSize)..<end])
                    // Some of it is in the server's memory.
                    try await eventually("no piece arrives") { server.unfinishedByteCount > end - pieceSize }
                }
                continuation.finish(throwing: fault)
            }
            continuation.onTermination = { _ in producer.cancel() }
            return stream
        }

        @Test("Go on after a pause", arguments: NginxServer.Port.ordinary, [false, true])
        func pauses(port: NginxServer.Port, hasLength: Bool) async throws {
            let bytes = try randomBytes(500_000)
            let response = try await server.uploader().response(
                for: server.request(port, "/a"),
                from: .stream(pieces(of: bytes, pieceSize: 100_000), length: hasLength ? 500_000 : nil)
            )
            #expect(response.statusCode == 201)
            #expect(try server.stored("/a") == bytes)
            #expect(try await server.accesses(1).map(\.version) == [port.version])
        }

        @Test("Store nothing when they break off", arguments: NginxServer.Port.ordinary, [false, true])
        func breakingOff(port: NginxServer.Port, hasLength: Bool) async throws {
            let uploader = server.uploader()
            let broken = pieces(of: try randomBytes(300_000), pieceSize: 100_000, fault: Fault())
            let request = server.request(port, "/broken")
            let error = await #expect(throws: UploadError.self) {
                try await uploader.response(for: request, from: .stream(broken, length: hasLength ? 500_000 : nil))
            }
            #expect(error?.code == .bodyUnreadable)
            #expect(error?.underlying is Fault)
            #expect(error?.response == nil)
            #expect(try await server.accesses(1).map(\.path) == ["/broken"])
            #expect(server.storedPaths.isEmpty)
            _ = try await uploader.response(for: server.request(port, "/after"), from: Data("after".utf8))
            #expect(server.storedPaths == ["after"])
        }
    }
}
