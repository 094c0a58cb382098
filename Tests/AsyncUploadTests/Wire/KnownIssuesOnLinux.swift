import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

extension OverTheWire {
    /// The rows that `URLSession` on Linux cannot satisfy, so that it shows when one of them is mended upstream.
    @Suite(.enabled(if: Platform.usesFoundationNetworking)) struct KnownIssues {
        @Test("C32: a head that is cut short ends the process")
        func headCutShort() async {
            await KnownIssue.headCutShort.occurs {
                // In a process of its own, which is what ends.
                await #expect(processExitsWith: .success) {
                    let server = try LoopbackServer()
                    server.route(nil, "/*") { exchange in
                        try exchange.readBody()
                        try exchange.send("HTTP/1.1 200 OK\r\nContent-Le")
                        exchange.close()
                    }
                    let request = URLRequest(url: server.url("/x"), method: "PUT")
                    await #expect(throws: UploadError.self) {
                        try await Uploader(.streamed).response(for: request, from: Data("body".utf8))
                    }
                }
            }
        }

        @Test(
            "C33: heads that are legal or common, and rejected",
            arguments: [
                "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 200 OK\r\nContent-Length:2\r\n\r\nok",
            ]
        )
        func rejectedHeads(answer: String) async throws {
            let lane = try Lane(.streamed)
            lane.server.route(nil, "/*") { exchange in
                try exchange.readBody()
                try exchange.send(answer)
                exchange.close()
            }
            let seen = try await lane.upload(bytes(100), as: .data, to: "/x")
            await KnownIssue.headRejected.occurs { #expect(seen.text == "ok") }
            #expect(seen.code == .responseUnreadable)
            #expect(lane.server.requests.count == 1)
        }

        @Test("C33: Latin-1 bytes in a head")
        func latin1() async throws {
            let lane = try Lane(.streamed)
            lane.server.route(nil, "/*") { exchange in
                try exchange.readBody()
                try exchange.send(
                    Data("HTTP/1.1 200 OK\r\nX-A: ".utf8) + [0xE9] + Data("\r\nContent-Length: 2\r\n\r\nok".utf8)
                )
                exchange.close()
            }
            let seen = try await lane.upload(bytes(100), as: .data, to: "/x")
            await KnownIssue.headRejected.occurs { #expect(seen.text == "ok") }
            #expect(seen.code == .responseUnreadable)
        }

        @Test("C42, C43: a file that changes while the native task sends it is noticed, too")
        func changingNativeFile() async {
            await KnownIssue.nativeFileEndsEarly.mayOccur {
                await #expect(processExitsWith: .success) {
                    let lane = try Lane(.native, receiveBufferSize: 64 << 10)
                    let file = try lane.scratch.file(bytes(16 << 20))
                    lane.server.route(nil, "/*") { exchange in
                        _ = try exchange.readBody(upTo: 4 << 20)
                        let handle = try FileHandle(forWritingTo: file)
                        try handle.truncate(atOffset: exchange.request.path == "/longer" ? 17 << 20 : 1 << 20)
                        try handle.close()
                        try exchange.readBody()
                        try exchange.respond(200)
                    }
                    for path in ["/longer", "/shorter"] {
                        let seen = await Observation(lane.uploader.upload(for: lane.request(path), fromFile: file))
                        #expect(seen.code == .fileChanged)
                        #expect(lane.server.requests.last?.isComplete == false)
                    }
                }
            }
        }
    }
}
