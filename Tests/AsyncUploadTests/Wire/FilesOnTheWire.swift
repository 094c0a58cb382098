import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

extension OverTheWire {
    /// Files that are not what they seem, or do not stay so: promise 10, cases C38, C39, C41 to C43, C45 to C47.
    @Suite struct Files {
        private func fails(_ url: URL, _ code: UploadError.Code, _ lane: Lane) async throws {
            let seen = await Observation(lane.uploader.upload(for: lane.request("/x"), fromFile: url))
            #expect(seen.code == code)
            #expect((seen.error as? UploadError)?.detail?.contains(url.path) == true)
            #expect(lane.server.connectionCount == 0)
        }

        @Test("C38, C39, C46: what is not a readable regular file fails before there is a connection")
        func notFiles() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.sink)
            try await fails(lane.scratch.path("missing"), .fileNotFound, lane)
            try await fails(lane.scratch.url, .notARegularFile, lane)
            try await fails(URL(fileURLWithPath: "/dev/zero"), .notARegularFile, lane)
            let fifo = lane.scratch.path("fifo")
            #expect(mkfifo(fifo.path, 0o600) == 0)
            try await fails(fifo, .notARegularFile, lane)
            let dangling = lane.scratch.path("dangling")
            try FileManager.default.createSymbolicLink(at: dangling, withDestinationURL: lane.scratch.path("missing"))
            try await fails(dangling, .fileNotFound, lane)
        }

        @Test("C46: a file under /proc does not tell its size", .enabled(if: Platform.usesFoundationNetworking))
        func pseudoFile() async throws {
            let lane = try Lane()
            try await fails(URL(fileURLWithPath: "/proc/cpuinfo"), .notARegularFile, lane)
        }

        @Test("They fail at once even when there is no place free")
        func failsWhileOthersRun() async throws {
            let lane = try Lane { $0.maximumUploadsInFlight = 1 }
            lane.server.route(nil, "/*", LoopbackServer.neverAnswer)
            let running = lane.uploader.task(for: lane.request("/x"), from: bytes(10))
            try await lane.server.wait { $0.requests.count == 1 }
            let seen = await Observation(
                lane.uploader.upload(for: lane.request("/x"), fromFile: lane.scratch.path("missing"))
            )
            #expect(seen.code == .fileNotFound)
            running.cancel()
        }

        @Test("C41: a symbolic link sends the file that it stands for")
        func symbolicLink() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.accept(digesting: true))
            let data = bytes(1 << 20)
            let link = lane.scratch.path("link")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: try lane.scratch.file(data))
            let seen = await Observation(lane.uploader.upload(for: lane.request("/x"), fromFile: link))
            #expect(seen.response != nil)
            #expect(lane.server.requests.first?.header("Content-Length") == "1048576")
            #expect(lane.server.requests.first?.digest == BodyDigest.of(data))
        }

        @Test(
            "C42: a file that grows while it is sent never sends more than announced, and fails",
            arguments: [Carrier.automatic, .streamed]
        )
        func growingFile(carrier: Carrier) async throws {
            let state = try await stateAfterSending(over: carrier, changingAt: 1 << 20) { handle in
                try handle.seekToEnd()
                try handle.write(contentsOf: bytes(1 << 20))
            }
            #expect(state.requests.first?.excess == 0)
            #expect(state.rejections.isEmpty)
        }

        @Test(
            "C43: a file that is truncated while it is sent fails at once, and the server never sees an end",
            arguments: [Carrier.automatic, .streamed]
        )
        func shrinkingFile(carrier: Carrier) async throws {
            _ = try await stateAfterSending(over: carrier, changingAt: 4 << 20) { handle in
                try handle.truncate(atOffset: 1 << 20)
            }
        }

        /// Sends a file of 16 MiB that is changed once the server has so much of it; checks that this is noticed.
        private func stateAfterSending(
            over carrier: Carrier,
            changingAt count: Int,
            _ change: @escaping @Sendable (FileHandle) throws -> Void
        ) async throws -> LoopbackServer.Snapshot {
            let lane = try Lane(carrier, receiveBufferSize: 64 << 10)
            let file = try lane.scratch.file(bytes(16 << 20))
            lane.server.route(nil, "/*") { exchange in
                _ = try exchange.readBody(upTo: count)
                let handle = try FileHandle(forWritingTo: file)
                try change(handle)
                try handle.close()
                try exchange.readBody()
                try exchange.respond(200)
            }
            let seen = await Observation(lane.uploader.upload(for: lane.request("/x"), fromFile: file))
            #expect(seen.code == .fileChanged)
            let state = try await lane.server.wait { $0.openConnectionCount == 0 }
            #expect(state.requests.first?.isComplete == false)
            return state
        }

        @Test("A file that is removed or replaced by another while it is sent goes on as it was opened")
        func replacedFile() async throws {
            let lane = try Lane(receiveBufferSize: 64 << 10)
            let data = bytes(16 << 20)
            let file = try lane.scratch.file(data)
            lane.server.route(nil, "/*") { exchange in
                _ = try exchange.readBody(upTo: 1 << 20, digesting: true)
                try FileManager.default.removeItem(at: file)
                try Data("other".utf8).write(to: file)
                try exchange.readBody(digesting: true)
                try exchange.respond(200)
            }
            let seen = await Observation(lane.uploader.upload(for: lane.request("/x"), fromFile: file))
            #expect(seen.response != nil)
            #expect(lane.server.requests.first?.digest == BodyDigest.of(data))
        }

        @Test("C45: 5 GiB are announced as such, and can be cancelled on the way")
        func moreThan4GiB() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*") { exchange in
                _ = try exchange.readBody(upTo: 100 << 20)
                exchange.close()
            }
            let file = try lane.scratch.sparseFile(5 << 30)
            let seen = await Observation(lane.uploader.upload(for: lane.request("/x"), fromFile: file))
            #expect(seen.code?.isConnectionLoss == true)
            #expect(lane.server.requests.first?.header("Content-Length") == "5368709120")
            #expect(try #require(seen.fractions.last) < 0.05)
        }

        @Test(
            "C47: any name a file can have",
            arguments: [
                #"na me "q" ü#?%.bin"#, "Zu\u{308}rich", "Z\u{fc}rich", String(repeating: "n", count: 255),
                "line\nbreak",
                "%41", "フェニックス.jpg", "-", "\\",
            ]
        )
        func names(name: String) async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.accept(keeping: true))
            let data = Data(name.utf8)
            let file = try lane.scratch.file(data, name: name)
            let seen = await Observation(lane.uploader.upload(for: lane.request("/x"), fromFile: file))
            #expect(seen.response != nil)
            #expect(lane.server.requests.first?.body == data)
        }
    }
}
