import AsyncUpload
import Foundation
import Testing

extension Interop {
    /// What becomes of connections.
    @Suite struct Connections {
        let server: NginxServer

        init() async throws {
            server = try await NginxServer()
        }

        @Test("One serves uploads that follow each other", arguments: Body.allCases, NginxServer.Port.ordinary)
        func reuse(body: Body, port: NginxServer.Port) async throws {
            let uploader = server.uploader()
            let bytes = try randomBytes(100_000)
            for path in ["/first", "/second"] {
                let body = try body.of(bytes, in: server.folder)
                _ = try await uploader.response(for: server.request(port, path), from: body)
                #expect(try server.stored(path) == bytes)
            }
            let connections = try await server.accesses(2).map(\.connection)
            #expect(connections.count == 2)
            #expect(Set(connections).count == 1)
        }

        @Test("One that is dropped fails the upload", arguments: NginxServer.Port.ordinary)
        func dropped(port: NginxServer.Port) async throws {
            let uploader = server.uploader { $0.retry = .none }
            let error = try await server.refusal(by: uploader, of: server.request(port, "/drop/a"))
            #expect(error.code.isConnectionLoss)
            #expect(error.mayHaveReachedServer)
            #expect(error.response == nil)
            #expect(try await server.accesses(1).map(\.status) == ["444"])
            _ = try await uploader.response(for: server.request(port, "/after"), from: Data("after".utf8))
            #expect(try server.stored("/after") == Data("after".utf8))
        }

        @Test("A POST is not repeated when its connection is dropped", arguments: NginxServer.Port.ordinary)
        func droppedPost(port: NginxServer.Port) async throws {
            let uploader = server.uploader()
            _ = try await uploader.response(for: server.request(port, "/before"), from: Data("before".utf8))
            var request = server.request(port, "/drop/a")
            request.httpMethod = "POST"
            let error = await #expect(throws: UploadError.self) {
                try await uploader.response(for: request, from: Data("after".utf8))
            }
            #expect(error?.code.isConnectionLoss == true)
            #expect(error?.attempts == 1)
            #expect(try await server.accesses(2).map(\.path) == ["/before", "/drop/a"])
        }

        @Test("A cancelled upload leaves the uploader of use", arguments: NginxServer.Port.ordinary)
        func cancelled(port: NginxServer.Port) async throws {
            let uploader = server.uploader()
            let endless = AsyncStream<Data> { $0.yield(Data(count: 200_000)) }
            let task = uploader.task(for: server.request(port, "/cancelled"), from: .stream(endless))
            try await eventually("nothing arrives") { server.unfinishedByteCount > 0 }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.response }
            // The server must not go on waiting for the rest.
            #expect(try await server.accesses(1).map(\.path) == ["/cancelled"])
            let bytes = try randomBytes(100_000)
            _ = try await uploader.response(for: server.request(port, "/after"), from: bytes)
            let accesses = try await server.accesses(2)
            #expect(accesses.filter { $0.status == "201" }.map(\.path) == ["/after"])
            #expect(server.storedPaths == ["after"])
            #expect(try server.stored("/after") == bytes)
        }

        @Test("An upload over HTTP/2 outlives another one of its connection")
        func sharedConnection() async throws {
            let uploader = server.uploader()
            let endless = UploadBody.stream { AsyncStream<Data> { $0.yield(Data(count: 200_000)) } }
            let cancelled = uploader.task(for: server.request(.http2, "/cancelled"), from: endless)
            try await eventually("nothing arrives") { server.unfinishedByteCount > 100_000 }
            let (pieces, continuation) = AsyncStream<Data>.makeStream()
            let bytes = try randomBytes(400_000)
            let other = uploader.task(for: server.request(.http2, "/other"), from: .stream { pieces })
            continuation.yield(bytes.prefix(200_000))
            try await eventually("nothing arrives") { server.unfinishedByteCount > 300_000 }
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.response }
            continuation.yield(bytes.dropFirst(200_000))
            continuation.finish()
            _ = try await other.response
            let accesses = try await server.accesses(2)
            #expect(accesses.map(\.path) == ["/cancelled", "/other"])
            #expect(Set(accesses.map(\.connection)).count == 1)
            #expect(server.storedPaths == ["other"])
            #expect(try server.stored("/other") == bytes)
        }

        @Test("A cancelled file over HTTP/2 leaves the uploader of use")
        func cancelledFile() async throws {
            let uploader = server.uploader()
            let file = try server.folder.write("source", Data())
            try FileHandle(forWritingTo: file).truncate(atOffset: 1 << 30)
            let task = uploader.task(for: server.request(.http2, "/cancelled"), fromFile: file)
            try await eventually("nothing arrives") { server.unfinishedByteCount > 0 }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.response }
            // The server must not go on waiting for the rest.
            #expect(try await server.accesses(1).map(\.path) == ["/cancelled"])
            let bytes = try randomBytes(3_000_000)
            _ = try await uploader.response(for: server.request(.http2, "/after"), from: bytes)
            #expect(try await server.accesses(2).filter { $0.status == "201" }.map(\.path) == ["/after"])
            #expect(server.storedPaths == ["after"])
            #expect(try server.stored("/after") == bytes)
        }
    }
}
