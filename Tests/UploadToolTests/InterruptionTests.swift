import Foundation
import LoopbackServer
import Testing

@testable import upload

@Suite(.serialized, .timeLimit(.minutes(5)))
struct InterruptionTests {
    let tool: Tool
    let server: LoopbackServer
    /// Lets one handler read on. While none reads, the news that the tool is gone waits behind the bytes it has sent.
    private let readOn = DispatchSemaphore(value: 0)

    init() throws {
        tool = try Tool()
        server = try LoopbackServer(receiveBufferSize: 64 << 10)
        server.route(nil, "*") { [readOn] exchange in
            _ = try exchange.readBody(upTo: 1000)
            _ = readOn.wait(timeout: .now() + 240)
            try exchange.readBody()
        }
        try tool.folder.write("a", Data(count: 16 << 20))
        try tool.folder.write("b", Data(count: 16 << 20))
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func stopsAStalledUpload(signal: Int32) async throws {
        let result = try await tool.run("--progress", "bar", "a", server.url("/x").absoluteString) { process in
            try await server.wait { $0.requests.first?.bodyByteCount == 1000 }
            kill(process, signal)
        }
        // It has ended while the server was not reading.
        #expect(server.requests.first?.bodyByteCount == 1000)
        #expect(result.status == 130)
        #expect(result.errors.hasSuffix("\nupload: interrupted\n"))
        #expect(result.text == "")
        readOn.signal()
        let end = try await server.wait { $0.openConnectionCount == 0 }
        #expect(end.requests.map(\.isComplete) == [false])
    }

    @Test func stopsAll() async throws {
        let result = try await tool.run("a", "b", server.url("/").absoluteString) { process in
            try await server.wait { $0.requests.count == 2 && $0.requests.allSatisfy { $0.bodyByteCount == 1000 } }
            kill(process, SIGINT)
        }
        #expect(result.status == 130)
        #expect(result.errors == "upload: interrupted\n")
        readOn.signal()
        readOn.signal()
        let end = try await server.wait { $0.openConnectionCount == 0 }
        #expect(end.requests.map(\.isComplete) == [false, false])
    }

    @Test func tellsInJSON() async throws {
        let url = server.url("/x").absoluteString
        let result = try await tool.run("--progress", "json", "a", url) { process in
            try await server.wait { $0.requests.first?.bodyByteCount == 1000 }
            kill(process, SIGINT)
        }
        readOn.signal()
        #expect(result.status == 130)
        let last = try #require(result.errorLines.last)
        let event = try #require(try JSONSerialization.jsonObject(with: Data(last.utf8)) as? [String: Any])
        #expect(event["event"] as? String == "error")
        #expect(event["code"] as? String == "interrupted")
    }
}

@Suite(.serialized, .timeLimit(.minutes(5)))
struct DemoTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
    }

    @Test(arguments: [[], ["--demo"]])
    func generatedFile(arguments: [String]) async throws {
        let result = try await tool.run(arguments)
        #expect(result.status == 0)
        let last = try #require(result.lines.last)
        #expect(last.wholeMatch(of: /verified: 67108864 bytes equal, [0-9]+ MB\/s/) != nil, "\(last)")
        #expect(result.errorLines.count == 1)
        #expect(result.errors.hasPrefix("demo.bin  ███"))
        #expect(try tool.folder.names.isEmpty)
    }

    @Test(arguments: ["a b\nü", "empty"])
    func ownFile(name: String) async throws {
        let size = name == "empty" ? 0 : 100_001
        try tool.folder.write(name, Data((0..<size).map { UInt8(truncatingIfNeeded: $0) }))
        let result = try await tool.run("--demo", name)
        #expect(result.status == 0)
        #expect(result.lines.last?.hasPrefix("verified: \(size) bytes equal, ") == true)
        #expect(try tool.folder.names == [name])
        let silent = try await tool.run("--demo", "-s", name)
        #expect(silent.errors == "")
        #expect(silent.lines.count == 1)
    }

    @Test func missingFile() async throws {
        let result = try await tool.run("--demo", "missing")
        #expect(result.status == 26)
        #expect(result.errors == "upload: missing: No such file. Check the path.\n")
    }

    /// The first line appears right before the file is made.
    @Test func interruptedLeavesNothing() async throws {
        var tool = tool
        let output = Pipe()
        tool.output = output
        let result = try await tool.run("--demo") { process in
            _ = try output.fileHandleForReading.read(upToCount: 1)
            kill(process, SIGINT)
        }
        #expect(result.status == 130)
        #expect(result.errors.hasSuffix("upload: interrupted\n"))
        #expect(try tool.folder.names.isEmpty)
    }

    @Test func noRoomForTheFile() async throws {
        var tool = tool
        tool.environment["TMPDIR"] = "/no/such/folder"
        let result = try await tool.run("--demo")
        #expect(result.status == 26)
        #expect(result.errorLines.count == 1)
        #expect(result.errors.contains("No such file or directory"))
    }
}
