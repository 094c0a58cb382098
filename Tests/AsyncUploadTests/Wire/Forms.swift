import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

extension OverTheWire {
    /// Forms as a server gets them. What parsers make of them is tested elsewhere, with parsers that others have written.
    @Suite struct Forms {
        @Test("C48: the bytes are those of the parts, between the lines that the boundary makes")
        func bytesOnTheWire() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.accept(keeping: true))
            for count in [0, 1, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537, 300_000] {
                let (first, second) = (bytes(count) + Data("\r\n".utf8), bytes(count, seed: 2))
                var form = MultipartForm()
                form.append("text", name: "t")
                form.append(fromFile: try lane.scratch.file(first, name: "a\(count).bin"), name: "f")
                form.append(fromFile: try lane.scratch.file(second, name: "b\(count).bin"), name: "f")
                _ = try await lane.uploader.response(for: lane.request("/x", method: "POST"), from: .multipart(form))
                let request = try #require(lane.server.requests.last)
                let body = try #require(request.body)
                #expect(request.headers("Content-Length") == ["\(body.count)"])
                let boundary = try #require(request.header("Content-Type")?.components(separatedBy: "boundary=").last)
                #expect(body.starts(with: Data("--\(boundary)\r\n".utf8)))
                #expect(body.suffix(boundary.utf8.count + 8) == Data("\r\n--\(boundary)--\r\n".utf8))
                #expect(body.range(of: Data("\r\n\r\n".utf8) + first + Data("\r\n--\(boundary)\r\n".utf8)) != nil)
                #expect(body.range(of: Data("\r\n\r\n".utf8) + second + Data("\r\n--\(boundary)--".utf8)) != nil)
            }
        }

        @Test("C51: the boundary that is sent is the body's", arguments: ["multipart/form-data", "text/plain"])
        func contentType(given: String) async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.accept(keeping: true))
            var request = lane.request("/x", method: "POST")
            request.setValue(given, forHTTPHeaderField: "Content-Type")
            let body = UploadBody.multipart(MultipartForm())
            _ = try await lane.uploader.response(for: request, from: body)
            #expect(lane.server.requests.first?.headers("Content-Type") == [try #require(body.contentType)])
            _ = try await lane.uploader.response(for: request, from: .form(["a": "b"]))
            #expect(lane.server.requests.last?.headers("Content-Type") == [given])
        }

        @Test("C52: a part whose length is not known, among others", arguments: [nil, Int64(200_000)])
        func streamPart(length: Int64?) async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.accept(keeping: true))
            let data = bytes(200_000)
            var form = MultipartForm()
            form.append("before", name: "a")
            form.append(.stream(length: length) { pieces(of: data) }, name: "s", filename: "s.bin")
            form.append(fromFile: try lane.scratch.file(data), name: "f")
            let body = UploadBody.multipart(form)
            for _ in 0..<2 {
                _ = try await lane.uploader.response(for: lane.request("/x", method: "POST"), from: body)
                let request = try #require(lane.server.requests.last)
                let isSized = length != nil || Carrier.underTest != .automatic
                #expect(request.headers("Transfer-Encoding") == (isSized ? [] : ["chunked"]))
                #expect(request.headers("Content-Length") == (isSized ? ["\(request.bodyByteCount)"] : []))
                let parts = try #require(request.body).ranges(of: Data("\r\n\r\n".utf8) + data + Data("\r\n--".utf8))
                #expect(parts.count == 2)
            }
        }

        @Test("C26: a form with a part that can be read once is not sent twice")
        func oneShotPart() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.redirect(status: 307, to: "/y"))
            var form = MultipartForm()
            form.append(.stream(pieces(of: bytes(1000))), name: "s")
            let body = UploadBody.multipart(form)
            let error = await #expect(throws: UploadError.self) {
                _ = try await lane.uploader.response(for: lane.request("/x", method: "POST"), from: body)
            }
            // One that went through a file is there a second time.
            guard Carrier.underTest == .automatic else { return }
            #expect(error?.code == .bodyNotReplayable)
            let second = await #expect(throws: UploadError.self) {
                _ = try await lane.uploader.response(for: lane.request("/x", method: "POST"), from: body)
            }
            #expect(second?.code == .bodyNotReplayable)
            #expect(lane.server.requests.count == 1)
        }

        @Test("A redirect sends a form again from its start", arguments: [true, false])
        func redirect(hasStream: Bool) async throws {
            let lane = try Lane()
            lane.server.route(nil, "/x", LoopbackServer.redirect(status: 307, to: "/y"))
            lane.server.route(nil, "/y", LoopbackServer.accept(keeping: true))
            let data = bytes(300_000)
            var form = MultipartForm()
            form.append(fromFile: try lane.scratch.file(data), name: "f")
            if hasStream { form.append(.stream { pieces(of: data) }, name: "s") }
            let seen = await Observation(
                lane.uploader.upload(for: lane.request("/x", method: "POST"), from: .multipart(form))
            )
            #expect(seen.response != nil)
            let body = try #require(lane.server.requests.last?.body)
            #expect(body.ranges(of: Data("\r\n\r\n".utf8) + data + Data("\r\n--".utf8)).count == (hasStream ? 2 : 1))
        }

        enum Fault: CaseIterable {
            case fails, tooShort, tooLong, failsAtOnce, shrinks, grows
        }

        @Test("C53, C58: a part that fails never makes a complete request", arguments: Fault.allCases)
        func failingPart(fault: Fault) async throws {
            struct Failed: Error {}
            let lane = try Lane(receiveBufferSize: 64 << 10)
            lane.server.route(nil, "/*", LoopbackServer.accept(keeping: true))
            let file = try lane.scratch.file(bytes(20_000_000), name: "f")
            let half = bytes(500)
            var form = MultipartForm()
            form.append("before", name: "a")
            switch fault {
            case .fails:
                let source = Pieces { number in
                    guard number == 0 else { throw Failed() }
                    return half
                }
                form.append(.stream { source }, name: "s")
            case .failsAtOnce: form.append(.stream { () throws -> Pieces in throw Failed() }, name: "s")
            case .tooShort: form.append(.stream(length: 501) { pieces(of: half) }, name: "s")
            case .tooLong: form.append(.stream(length: 499) { pieces(of: half) }, name: "s")
            case .shrinks, .grows:
                form.append(
                    .stream {
                        Pieces { number in
                            guard number == 0 else { return nil }
                            let handle = try FileHandle(forWritingTo: file)
                            try handle.truncate(atOffset: fault == .grows ? 20_000_001 : 100)
                            try handle.close()
                            return half
                        }
                    },
                    name: "s"
                )
            }
            form.append(fromFile: file, name: "f")
            let error = await #expect(throws: UploadError.self) {
                _ = try await lane.uploader.response(for: lane.request("/x", method: "POST"), from: .multipart(form))
            }
            let code: UploadError.Code =
                switch fault {
                case .fails, .failsAtOnce: .bodyUnreadable
                case .tooShort, .tooLong: .bodyLengthMismatch
                case .shrinks, .grows: .fileChanged
                }
            #expect(error?.code == code)
            _ = try await lane.server.wait(timeout: .seconds(10)) { $0.openConnectionCount == 0 || $0.requests.isEmpty }
            #expect(lane.server.requests.allSatisfy { !$0.isComplete })
            #expect(lane.server.requests.allSatisfy { $0.body?.ranges(of: Data("--\r\n".utf8)).isEmpty != false })
        }

        @Test("C08: a form's progress is as fine as a file's")
        func progress() async throws {
            let lane = try Lane(receiveBufferSize: 64 << 10)
            lane.server.route(nil, "/*", LoopbackServer.accept(bytesPerSecond: 20_000_000))
            let file = try lane.scratch.file(bytes(20_000_000))
            var form = MultipartForm()
            form.append("text", name: "t")
            form.append(fromFile: file, name: "f")
            for body in [UploadBody.multipart(form), .file(file)] {
                let seen = await Observation(lane.uploader.upload(for: lane.request("/x"), from: body))
                #expect(seen.response != nil)
                #expect(Set(seen.fractions).count >= 10, "\(seen.fractions)")
            }
        }

        @Test("C87, C88: a form says what it is, data and streams do not; also after a redirect that drops the body")
        func types() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/x", LoopbackServer.redirect(status: 303, to: "/y"))
            lane.server.route(nil, "/y", LoopbackServer.sink)
            let body = UploadBody.multipart(MultipartForm())
            _ = try await lane.uploader.response(for: lane.request("/x", method: "POST"), from: body)
            #expect(lane.server.requests.map { $0.headers("Content-Type") } == [[try #require(body.contentType)], []])
        }
    }
}
