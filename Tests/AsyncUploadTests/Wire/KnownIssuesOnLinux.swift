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
                await #expect(processExitsWith: .success) { try await checkCutHeadIsSurvived(.streamed) }
            }
            await #expect(processExitsWith: .success) { try await checkCutHeadIsSurvived(.automatic) }
        }

        @Test("A trailer field ends the process")
        func trailerField() async {
            await KnownIssue.trailerField.occurs {
                await #expect(processExitsWith: .success) { try await checkTrailerIsSurvived(.streamed) }
            }
            await #expect(processExitsWith: .success) { try await checkTrailerIsSurvived(.automatic) }
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
            let other = await Observation(Uploader(.automatic).upload(for: lane.request("/x"), from: bytes(100)))
            #expect(other.text == "ok")
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
            let other = await Observation(Uploader(.automatic).upload(for: lane.request("/x"), from: bytes(100)))
            #expect(other.text == "ok")
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

/// Answers in every way that ends inside the head, however long the head is by then.
private func checkCutHeadIsSurvived(_ carrier: Carrier) async throws {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    let server = try LoopbackServer()
    server.route(nil, "/*") { exchange in
        try exchange.readBody()
        try exchange.send(Data(head.utf8.prefix(Int(exchange.request.path.dropFirst()) ?? 0)))
        exchange.close()
    }
    let uploader = Uploader(carrier)
    for count in (1..<head.utf8.count).reversed() {
        let error = await #expect(throws: UploadError.self) {
            try await uploader.response(for: URLRequest(url: server.url("/\(count)"), method: "PUT"), from: bytes(10))
        }
        #expect(error?.code.isConnectionLoss == true || error?.code == .responseUnreadable, "\(count)")
    }
}

private func checkTrailerIsSurvived(_ carrier: Carrier) async throws {
    let server = try LoopbackServer()
    server.route(nil, "/*") { exchange in
        try exchange.readBody()
        try exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n")
    }
    let response = try await Uploader(carrier).response(
        for: URLRequest(url: server.url("/x"), method: "PUT"),
        from: bytes(10)
    )
    #expect(response.text() == "ok")
    #expect(response.headers["X-Sum"] == nil)
}
