import AsyncUpload
import Foundation
import Testing

extension Interop {
    /// What the server stores is what was sent, whatever it was and however it went.
    @Suite struct Bodies {
        let server: NginxServer

        init() async throws {
            server = try await NginxServer()
        }

        @Test("Arrive as they are", arguments: Body.allCases, NginxServer.Port.ordinary)
        func arrive(body: Body, port: NginxServer.Port) async throws {
            let uploader = server.uploader()
            let sizes = [0, 1, 3_000_000]
            for size in sizes {
                let bytes = try randomBytes(size)
                let response = try await uploader.response(
                    for: server.request(port, "/\(size)"),
                    from: body.of(bytes, in: server.folder)
                )
                #expect(response.statusCode == 201)
                #expect(response.metrics.bytesSent == size)
                #expect(try server.stored("/\(size)") == bytes)
            }
            let accesses = try await server.accesses(sizes.count)
            #expect(accesses.map(\.path) == sizes.map { "/\($0)" })
            #expect(accesses.allSatisfy { $0.method == "PUT" && $0.version == port.version && $0.expect.isEmpty })
            let hasLength = body != .streamOfUnknownLength
            #expect(accesses.map(\.length) == sizes.map { hasLength ? "\($0)" : "" })
            // HTTP/2 has no codings of transfer.
            let coding = hasLength || port == .http2 ? "" : "chunked"
            #expect(accesses.allSatisfy { $0.coding == coding })
        }

        @Test("64 MiB from a file over HTTP/2 report their progress")
        func largeFile() async throws {
            let bytes = try randomBytes(64 << 20)
            let file = try server.folder.write("source", bytes)
            var fractions: [Double] = []
            var responses = 0
            for try await event in server.uploader().upload(for: server.request(.http2, "/large"), fromFile: file) {
                switch event {
                case .progress(let fraction): fractions.append(fraction)
                case .response: responses += 1
                }
            }
            #expect(responses == 1)
            #expect(fractions.last == 1)
            #expect(fractions == fractions.sorted())
            // How many of them a reader sees depends on how fast it is.
            #expect(fractions.contains { $0 > 0 && $0 < 1 })
            #expect(try server.stored("/large") == bytes)
            #expect(try await server.accesses(1).map(\.version) == ["HTTP/2.0"])
        }

        @Test("20 at a time arrive through one uploader", arguments: [NginxServer.Port.http2, .http1])
        func concurrent(port: NginxServer.Port) async throws {
            let bodies = try (0..<20).map { try randomBytes(500_000 + $0) }
            let uploader = server.uploader { $0.maximumUploadsInFlight = 20 }
            try await withThrowingTaskGroup { group in
                for (number, bytes) in bodies.enumerated() {
                    let body = try Body.allCases[number % Body.allCases.count].of(bytes, in: server.folder)
                    let request = server.request(port, "/\(number)")
                    group.addTask { _ = try await uploader.response(for: request, from: body) }
                }
                try await group.waitForAll()
            }
            for (number, bytes) in bodies.enumerated() {
                #expect(try server.stored("/\(number)") == bytes)
            }
            let accesses = try await server.accesses(20)
            #expect(accesses.count == 20)
            #expect(accesses.allSatisfy { $0.status == "201" && $0.version == port.version })
        }
    }
}
