import AsyncUpload
import Foundation
import LoopbackServer
import Testing

@testable import upload

/// What becomes of checkpoints, and what the tool says about it.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ResumptionStateEndToEndTests {
    private let fixture: ResumableFixture
    private var tool: Tool { fixture.tool }
    private var server: LoopbackServer { fixture.server }
    private var file: Data { fixture.file }

    init() throws {
        fixture = try ResumableFixture(size: 4_000_001)
    }

    private static let stopped = "upload: movie.bin: Stopped. The same command continues.\n"

    @Test(arguments: ["tus", "ietf", "gcs"], [SIGINT, SIGTERM])
    func stoppedAndContinued(kind: String, signal: Int32) async throws {
        let (store, arguments) = fixture.install(kind, script: ResumableFixture.stalling(kind))
        let command = ["--state", "state"] + arguments
        let first = try await fixture.interrupt(command, store, at: 1_000_000, with: signal)
        #expect(first.status == 130)
        #expect(first.errors == Self.stopped)
        #expect(try fixture.checkpoints.count == 1)
        #expect(try tool.folder.names.sorted() == ["movie.bin", "state"])

        let end = try await server.wait { $0.openConnectionCount == 0 }
        let second = try await tool.run(command)
        #expect(second.status == 0)
        #expect(second.errors == "")
        #expect(store.uploads.map(\.data) == [file])
        #expect(fixture.bytes(after: end.requests.count) <= 3_000_001)
    }

    /// Nobody can go on with it, so nothing is left at the server.
    @Test(arguments: ResumableFixture.sequential)
    func stoppedWithoutState(kind: String) async throws {
        let (store, arguments) = fixture.install(kind, script: ResumableFixture.stalling(kind))
        let result = try await fixture.interrupt(arguments, store, at: 1_000_000, with: SIGINT)
        #expect(result.status == 130)
        #expect(result.errors == "upload: interrupted\n")
        #expect(store.uploads.map(\.isGone) == [true])
    }

    @Test func standardInputIsNotContinued() async throws {
        var tool = tool
        let pipe = Pipe()
        tool.input = pipe
        let (store, arguments) = fixture.install("tus")
        try pipe.fileHandleForWriting.write(contentsOf: Data("abc".utf8))
        let target = try #require(arguments.last)
        let result = try await tool.run("--resumable", "tus", "--state", "state", "-", target) { process in
            try await fixture.wait { FileManager.default.fileExists(atPath: tool.folder.path("state")) }
            kill(process, SIGINT)
        }
        try pipe.fileHandleForWriting.close()
        #expect(result.status == 130)
        #expect(result.errors == "upload: interrupted\n")
        #expect(!store.uploads.contains { !$0.isGone })
    }

    @Test func stoppedBeforeThereIsAnything() async throws {
        server.route(nil, "/busy") { exchange in
            exchange.hold()
        }
        let url = server.url("/busy").absoluteString
        let result = try await tool.run("--resumable", "tus", "--state", "state", "movie.bin", url) { process in
            try await server.wait { !$0.requests.isEmpty }
            kill(process, SIGINT)
        }
        #expect(result.status == 130)
        #expect(result.errors == "upload: interrupted\n")
    }

    @Test func stoppedInJSON() async throws {
        let (store, arguments) = fixture.install("tus", script: ResumableFixture.stalling("tus"))
        let command = ["--state", "state", "--progress", "json"] + arguments
        let result = try await fixture.interrupt(command, store, at: 1_000_000, with: SIGINT)
        #expect(result.status == 130)
        #expect(result.errorLines.last?.contains("\"code\":\"interrupted\"") == true)
        #expect(result.errorLines.allSatisfy { $0.hasPrefix("{") })
    }

    // MARK: Others

    @Test func underWayAlready() async throws {
        let (store, arguments) = fixture.install("tus") {
            $0.method == "PATCH" && $0.numberOfMethod == 1 ? .stallAfter(1000) : nil
        }
        let command = ["--state", "state"] + arguments
        let first = try await tool.run(command) { process in
            try await fixture.wait { store.uploads.last?.offset == 1000 }
            let second = try await tool.run(command)
            #expect(second.status == 26)
            #expect(
                second.errors == "upload: movie.bin: The upload is under way already. Wait for its end, or stop it.\n"
            )
            kill(process, SIGKILL)
        }
        #expect(first.status == -SIGKILL)
        #expect(store.uploads.count == 1)
        #expect(try await tool.run(command).status == 0)
        #expect(store.uploads.map(\.data) == [file])
    }

    @Test func damagedCheckpoint() async throws {
        let (store, arguments) = fixture.install("tus", script: ResumableFixture.stalling("tus"))
        let command = ["--state", "state"] + arguments
        try await fixture.interrupt(command, store, at: 1_000_000)
        for checkpoint in try fixture.checkpoints { try Data("{".utf8).write(to: checkpoint) }
        let result = try await tool.run(["-v"] + command)
        #expect(result.status == 0)
        #expect(result.errors.contains("* movie.bin: starting afresh, since the checkpoint cannot be read"))
        #expect(store.uploads.count == 2)
        #expect(store.uploads.last?.data == file)
        #expect(try fixture.checkpoints.isEmpty)
    }

    @Test(arguments: ResumableFixture.sequential)
    func changedFile(kind: String) async throws {
        let (store, arguments) = fixture.install(kind, script: ResumableFixture.stalling(kind))
        let command = ["--state", "state"] + arguments
        try await fixture.interrupt(command, store, at: 1_000_000)
        let other = ResumableFixture.bytes(file.count, seed: 2)
        try tool.folder.write("movie.bin", other)
        let result = try await tool.run(["-v"] + command)
        #expect(result.status == 0)
        #expect(result.errorLines.contains("* movie.bin: starting afresh, since the file has changed"))
        #expect(store.uploads.count == 2)
        #expect(store.uploads.last?.data == other)
    }

    /// The query may name another object.
    @Test func otherQuery() async throws {
        let (store, arguments) = fixture.install("gcs", script: ResumableFixture.stalling("gcs"))
        let command = ["--state", "state"] + arguments.dropLast()
        let url = try #require(arguments.last)
        try await fixture.interrupt(command + [url + "&name=a"], store, at: 1_000_000)
        #expect(try await tool.run(command + [url + "&name=b"]).status == 0)
        #expect(store.uploads.map(\.name) == ["a", "b"])
        #expect(store.uploads.last?.data == file)
    }

    @Test func folderThatCannotBeMade() async throws {
        let (store, arguments) = fixture.install("tus")
        for state in ["movie.bin", "movie.bin/state"] {
            let result = try await tool.run(["--state", state] + arguments)
            #expect(result.status == 26)
            #expect(
                result.errors == "upload: \(state): The checkpoint could not be kept: Not a directory. "
                    + "Check the folder and its permissions.\n"
            )
        }
        let result = try await tool.run(["--progress", "json", "--state", "movie.bin"] + arguments)
        #expect(result.errorLines.count == 1)
        #expect(result.errors.contains("\"code\":\"checkpointFailed\""))
        #expect(store.uploads.isEmpty)
        #expect(server.requests.isEmpty)
    }
}
