import AsyncUpload
import Foundation
import LoopbackServer
import Testing

@testable import upload

/// S3, whose URLs somebody else signs.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct PartURLEndToEndTests {
    private let fixture: ResumableFixture
    private var tool: Tool { fixture.tool }
    private var server: LoopbackServer { fixture.server }
    private var file: Data { fixture.file }
    private let size = 18 << 20 + 5

    init() throws {
        fixture = try ResumableFixture(size: size)
    }

    /// Tells how it was called, and prints what the test has prepared for that call.
    private static let command = #"echo "$1 [$2]" >> calls; cat urls$(wc -l < calls | tr -d ' ').json"#

    private var calls: [String] {
        get throws {
            try String(contentsOfFile: tool.folder.path("calls"), encoding: .utf8).split(separator: "\n").map(
                String.init
            )
        }
    }

    private func arguments(_ partURLs: String, state: Bool = true) -> [String] {
        (state ? ["--state", "state"] : [])
            + [
                "--resumable", "s3", "--part-urls", partURLs, "movie.bin",
                server.url("/bucket/movie.bin?x=1").absoluteString,
            ]
    }

    private func object(_ store: UploadStore) -> Data? {
        store.uploads.last { $0.id.hasPrefix("object-") }?.data
    }

    @Test func fileWithURLs() async throws {
        let (store, _) = fixture.install("s3")
        try await fixture.writePartURLs(parts: 4)
        let result = try await tool.run(arguments("@urls.json"))
        #expect(result.status == 0)
        #expect(result.errors == "")
        #expect(object(store) == file)
        #expect(server.requests.count { $0.method == "PUT" } == 4)
    }

    @Test func command() async throws {
        let (store, _) = fixture.install("s3")
        try await fixture.writePartURLs("urls1.json", parts: 3, list: false)
        let result = try await tool.run(arguments(Self.command, state: false))
        #expect(result.status == 0)
        #expect(object(store) == file)
        #expect(try calls == ["3 []"])
    }

    @Test func smallBody() async throws {
        let (store, _) = fixture.install("s3")
        try tool.folder.write("movie.bin", "small")
        #expect(try await tool.run(arguments("exit 1")).status == 0)
        #expect(object(store) == Data("small".utf8))
    }

    @Test func standardInput() async throws {
        let (store, _) = fixture.install("s3")
        try await fixture.writePartURLs("urls1.json", parts: 4)
        let command = arguments(Self.command).map { $0 == "movie.bin" ? "-" : $0 }
        let result = try await tool.run(command, prefix: ResumableFixture.piping)
        #expect(result.status == 0)
        #expect(object(store) == file)
        #expect(try calls == ["1000 []"])
    }

    // MARK: After the end of the process

    /// The last part never ends, and all others are there.
    private func killedBeforeTheEnd(_ command: [String], _ store: UploadStore, parts: Int, _ signal: Int32 = SIGKILL)
        async throws -> Tool.Result
    {
        try await tool.run(command) { process in
            try await fixture.wait {
                try store.uploads.count { $0.id.contains(".") && $0.isComplete } == parts - 1
                    && !fixture.checkpoints.isEmpty
                    && store.uploads.contains { !$0.isComplete && $0.id.contains(".") && $0.offset == 1000 }
            }
            kill(process, signal)
        }
    }

    private static func stalling(part: Int) -> UploadScript {
        { request in
            guard request.target.contains("partNumber=\(part)&"), request.numberOfMethod <= part else { return nil }
            return .stallAfter(1000)
        }
    }

    @Test(arguments: [SIGKILL, SIGINT])
    func continued(signal: Int32) async throws {
        let (store, _) = fixture.install("s3", script: Self.stalling(part: 4))
        try await fixture.writePartURLs(parts: 4)
        let command = arguments("@urls.json")
        let first = try await killedBeforeTheEnd(command, store, parts: 4, signal)
        #expect(first.status == (signal == SIGKILL ? -SIGKILL : 130))
        if signal == SIGINT { #expect(first.errors == "upload: movie.bin: Stopped. The same command continues.\n") }
        let end = try await server.wait { $0.openConnectionCount == 0 }
        let second = try await tool.run(command)
        #expect(second.status == 0)
        #expect(object(store) == file)
        let rest = server.requests.dropFirst(end.requests.count)
        #expect(rest.filter { $0.method == "PUT" }.map(\.bodyByteCount) == [Int64(size - 15 << 20)])
        #expect(try fixture.checkpoints.isEmpty)
    }

    /// The command is told which upload it is to sign for.
    @Test func continuedByCommand() async throws {
        let (store, _) = fixture.install("s3", script: Self.stalling(part: 3))
        try await fixture.writePartURLs("urls1.json", parts: 3)
        try FileManager.default.copyItem(atPath: tool.folder.path("urls1.json"), toPath: tool.folder.path("urls2.json"))
        let command = arguments(Self.command)
        _ = try await killedBeforeTheEnd(command, store, parts: 3)
        let end = try await server.wait { $0.openConnectionCount == 0 }
        #expect(try await tool.run(command).status == 0)
        #expect(object(store) == file)
        #expect(try calls == ["3 []", "3 [multipart-1]"])
        #expect(server.requests.dropFirst(end.requests.count).count { $0.method == "PUT" } == 1)
    }

    /// A command that cannot sign for an upload that has begun begins another one.
    @Test func commandWithoutMemory() async throws {
        let (store, _) = fixture.install("s3", script: Self.stalling(part: 3))
        try await fixture.writePartURLs("urls1.json", parts: 3)
        let command = arguments(Self.command)
        _ = try await killedBeforeTheEnd(command, store, parts: 3)
        let end = try await server.wait { $0.openConnectionCount == 0 }
        try await fixture.writePartURLs("urls2.json", parts: 3)
        #expect(try await tool.run(command).status == 0)
        #expect(object(store) == file)
        #expect(server.requests.dropFirst(end.requests.count).count { $0.method == "PUT" } == 3)
    }

    /// A file with another upload in it has no checkpoint yet.
    @Test func fileOfAnotherUpload() async throws {
        let (store, _) = fixture.install("s3", script: Self.stalling(part: 4))
        try await fixture.writePartURLs(parts: 4)
        let command = arguments("@urls.json")
        _ = try await killedBeforeTheEnd(command, store, parts: 4)
        try await fixture.writePartURLs(parts: 4)
        #expect(try await tool.run(command).status == 0)
        #expect(object(store) == file)
    }

    /// URLs that have expired are asked for once more.
    @Test func expiredURLs() async throws {
        let store = UploadStore()
        let s3 = S3Server(store: store)
        s3.install(on: server)
        try await fixture.writePartURLs("urls1.json", parts: 3)
        let text = try String(contentsOfFile: tool.folder.path("urls1.json"), encoding: .utf8)
        try tool.folder.write("urls2.json", text.replacingOccurrences(of: "signature=x", with: "signature=y"))
        s3.expire("signature=x")
        #expect(try await tool.run(arguments(Self.command)).status == 0)
        #expect(object(store) == file)
        #expect(try calls == ["3 []", "3 [multipart-1]"])
    }

    // MARK: Failures

    @Test(arguments: [
        ("exit 3", "the command ended with the status 3"),
        ("kill -9 $$", "the command ended with a signal"),
        ("echo secret", "no JSON object with uploadId, parts, complete and perhaps list and abort"),
    ])
    func commandThatFails(command: String, reason: String) async throws {
        _ = fixture.install("s3")
        let result = try await tool.run(arguments(command))
        #expect(result.status == 26)
        #expect(result.errors == "upload: movie.bin: No URLs for the parts: \(reason). Check --part-urls.\n")
    }

    @Test func noListForOthers() async throws {
        _ = fixture.install("s3")
        try await fixture.writePartURLs("urls1.json", parts: 3, list: false)
        let result = try await tool.run(arguments(Self.command))
        #expect(result.status == 26)
        #expect(result.errors.contains("the JSON has no list, without which nobody can go on"))
    }

    @Test func tooFewURLs() async throws {
        _ = fixture.install("s3")
        try await fixture.writePartURLs("urls1.json", parts: 2)
        try FileManager.default.copyItem(atPath: tool.folder.path("urls1.json"), toPath: tool.folder.path("urls2.json"))
        let result = try await tool.run(arguments(Self.command))
        #expect(result.status == 26)
        #expect(result.errors.contains("there are 2, and part 3 needs one"))
    }

    @Test func fileThatCannotBeRead() async throws {
        _ = fixture.install("s3")
        let missing = try await tool.run(arguments("@missing.json"))
        #expect(missing.status == 26)
        #expect(missing.errors == "upload: missing.json: No such file. Check the path.\n")
        try tool.folder.write("bad.json", #"{"uploadId":"1","parts":["ftp://h/"],"complete":"http://h/"}"#)
        let bad = try await tool.run(arguments("@bad.json"))
        #expect(bad.status == 26)
        #expect(bad.errorLines.count == 1)
        #expect(bad.errors.hasPrefix("upload: bad.json: "))
        #expect(!bad.errors.contains("ftp"))
    }

    @Test func interruptedWhileTheCommandRuns() async throws {
        _ = fixture.install("s3")
        let result = try await tool.run(arguments("touch begun; exec sleep 100")) { process in
            try await fixture.wait { FileManager.default.fileExists(atPath: tool.folder.path("begun")) }
            kill(process, SIGINT)
        }
        #expect(result.status == 130)
        #expect(result.errors == "upload: interrupted\n")
    }
}
