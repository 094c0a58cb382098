import AsyncUpload
import Foundation
import LoopbackServer
import Testing

@testable import upload

@Suite(.serialized, .timeLimit(.minutes(5)))
struct ResumableEndToEndTests {
    private let fixture: ResumableFixture
    private var tool: Tool { fixture.tool }
    private var server: LoopbackServer { fixture.server }
    private var file: Data { fixture.file }

    init() throws {
        fixture = try ResumableFixture(size: 4_000_001)
    }

    // MARK: Without an interruption

    @Test(arguments: ResumableFixture.sequential, [[], ["--state", "state"]])
    func wholeFile(kind: String, state: [String]) async throws {
        let (store, arguments) = fixture.install(kind)
        let result = try await tool.run(state + arguments)
        #expect(result.status == 0)
        #expect(result.errors == "")
        #expect(store.uploads.map(\.data) == [file])
        #expect(store.uploads.map(\.isComplete) == [true])
        #expect(try fixture.checkpoints.isEmpty)
    }

    @Test(arguments: Tool.transports)
    func transports(transport: String) async throws {
        let (store, arguments) = fixture.install("tus")
        #expect(try await tool.run(["--transport", transport] + arguments).status == 0)
        #expect(store.uploads.map(\.data) == [file])
    }

    @Test func whatTheServerIsTold() async throws {
        let (tus, arguments) = fixture.install("tus")
        #expect(try await tool.run(["-H", "Content-Type: video/mp4"] + arguments).status == 0)
        let metadata = tus.uploads.first?.field("Upload-Metadata")
        #expect(metadata == "filename \(base64("movie.bin")),filetype \(base64("video/mp4"))")

        let (gcs, target) = fixture.install("gcs")
        #expect(try await tool.run(target).status == 0)
        #expect(gcs.uploads.map(\.name) == ["movie.bin"])

        let (_, draft) = fixture.install("ietf")
        #expect(try await tool.run(["-X", "PATCH"] + draft).status == 0)
        #expect(server.requests.last?.method == "PATCH")
        #expect(try await tool.run(draft).status == 0)
        #expect(server.requests.last?.method == "PUT")
    }

    private func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    /// All of them are created at the same URL.
    @Test func severalFiles() async throws {
        let store = UploadStore()
        TusServer(store: store).install(on: server, path: "/files/")
        let url = server.url("/files/").absoluteString
        let bodies = ["a", "b", "c"].map { Data(($0 + $0).utf8) }
        for (name, body) in zip(["a", "b", "c"], bodies) { try tool.folder.write(name, body) }
        let result = try await tool.run("-v", "--resumable", "tus", "--state", "state", "a", "b", "c", url)
        #expect(result.status == 0)
        #expect(Set(store.uploads.compactMap(\.data)) == Set(bodies))
        let names = Set(store.uploads.compactMap { $0.field("Upload-Metadata") })
        #expect(names == Set(["a", "b", "c"].map { "filename \(base64($0))" }))
        #expect(server.requests.allSatisfy { !$0.target.contains("#") })
        for name in ["a", "b", "c"] { #expect(result.errors.contains("* \(name): request 2 to http")) }
        #expect(try fixture.checkpoints.isEmpty)
    }

    @Test func severalObjects() async throws {
        let (store, arguments) = fixture.install("gcs")
        try tool.folder.write("a b&c", "a")
        let url = try #require(arguments.last)
        #expect(try await tool.run("--resumable", "gcs", "movie.bin", "a b&c", url).status == 0)
        #expect(Set(store.uploads.map(\.name)) == ["movie.bin", "a b&c"])
    }

    @Test(arguments: ResumableFixture.sequential)
    func standardInput(kind: String) async throws {
        let (store, arguments) = fixture.install(kind)
        let target = try #require(arguments.last) + (kind == "gcs" ? "&name=x" : "")
        let command = ["--resumable", kind, "--state", "state", "-", target]
        let result = try await tool.run(command, prefix: ResumableFixture.piping)
        #expect(result.status == 0)
        #expect(store.uploads.map(\.data) == [file])
    }

    @Test(arguments: [["--json", "{}"], ["-d", "{}"]], ResumableFixture.sequential)
    func data(flags: [String], kind: String) async throws {
        let (store, arguments) = fixture.install(kind)
        let target = try #require(arguments.last) + (kind == "gcs" ? "&name=x" : "")
        #expect(try await tool.run(["--resumable", kind] + flags + [target]).status == 0)
        #expect(store.uploads.map(\.data) == [Data("{}".utf8)])
    }

    @Test(arguments: ResumableFixture.sequential)
    func form(kind: String) async throws {
        let (store, arguments) = fixture.install(kind)
        let target = try #require(arguments.last) + (kind == "gcs" ? "&name=x" : "")
        #expect(try await tool.run("--resumable", kind, "-F", "f=@movie.bin", target).status == 0)
        #expect(store.uploads.first?.data?.range(of: file) != nil)
    }

    // MARK: Within one process

    /// All that was stored before the connection broke is not sent again.
    @Test func brokenConnection() async throws {
        let (store, arguments) = fixture.install("tus") {
            $0.method == "PATCH" && $0.numberOfMethod == 1 ? .resetAfter(1_000_000) : nil
        }
        let result = try await tool.run(arguments)
        #expect(result.status == 0)
        #expect(store.uploads.map(\.data) == [file])
        #expect(server.requests.last?.bodyByteCount == 3_000_001)
    }

    // MARK: After the end of the process

    @Test(arguments: ResumableFixture.sequential)
    func killed(kind: String) async throws {
        let (store, arguments) = fixture.install(kind, script: ResumableFixture.stalling(kind))
        let command = ["--state", "state"] + arguments
        let first = try await fixture.interrupt(command, store, at: 2_000_000)
        #expect(first.status == -SIGKILL)
        let end = try await server.wait { $0.openConnectionCount == 0 }
        let stored = try #require(store.uploads.first?.offset)
        #expect((2_000_000..<4_000_001).contains(stored))

        let second = try await tool.run(["-v"] + command)
        #expect(second.status == 0)
        #expect(store.uploads.map(\.data) == [file])
        #expect(fixture.bytes(after: end.requests.count) == 4_000_001 - stored)
        #expect(second.errorLines.contains("* movie.bin: going on with what was sent before"))
        #expect(try fixture.checkpoints.isEmpty)
    }

    @Test func killedTenTimes() async throws {
        let (store, arguments) = fixture.install(
            "tus",
            script: ResumableFixture.stalling("tus", after: 350_000, times: 10)
        )
        let command = ["--state", "state"] + arguments
        for count in 1...10 {
            let result = try await fixture.interrupt(command, store, at: Int64(count) * 300_000)
            #expect(result.status == -SIGKILL)
        }
        #expect(try await tool.run(command).status == 0)
        #expect(store.uploads.map(\.data) == [file])
        #expect(try fixture.checkpoints.isEmpty)
    }

    /// The first event with bytes has those that were there already.
    @Test func progressBeginsWhereItWas() async throws {
        let (store, arguments) = fixture.install("tus", script: ResumableFixture.stalling("tus"))
        let command = ["--state", "state"] + arguments
        try await fixture.interrupt(command, store, at: 2_000_000)
        let result = try await tool.run(["--progress", "json"] + command)
        #expect(result.status == 0)
        let events = try result.errorLines.map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        let counts = events.compactMap { $0["bytesSent"] as? Int }.filter { $0 > 0 }
        #expect(try #require(counts.first) >= 2_000_000)
        #expect(counts.last == 4_000_001)
        #expect(events.last?["event"] as? String == "response")
    }
}
