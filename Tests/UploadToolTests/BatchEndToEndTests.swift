import Foundation
import LoopbackServer
import Testing

@testable import upload

/// Several files at once.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct BatchEndToEndTests {
    private let tool: Tool
    private let server: LoopbackServer
    private let gate = DispatchSemaphore(value: 0)

    init() throws {
        tool = try Tool()
        server = try LoopbackServer()
        server.route(nil, "*", LoopbackServer.echo)
        for name in ["a", "b", "c"] {
            try tool.folder.write(name, Data(repeating: name.utf8.first ?? 0, count: 100_000))
        }
    }

    private var url: String { server.url("/").absoluteString }

    /// Answers only once the gate is opened.
    private var waiting: LoopbackServer.Handler {
        { [gate] exchange in
            try exchange.readBody()
            _ = gate.wait(timeout: .now() + 30)
            try exchange.respond(200, body: exchange.request.target)
        }
    }

    /// The last file is answered when the bar tells that another one has failed, so that this must be seen while it runs.
    @Test func oneLineForAll() async throws {
        var tool = tool
        let pipe = Pipe()
        tool.errors = pipe
        tool.environment["COLUMNS"] = "100"
        server.route(nil, "/a", LoopbackServer.accept(status: 500, body: "A"))
        server.route(nil, "/b", LoopbackServer.accept(body: "B"))
        server.route(nil, "/c", waiting)
        let pieces = pipe.pieces
        var written = Data()
        let result = try await tool.run("--retry=0", "--progress=bar", "a", "missing", "b", "c", url) { _ in
            for await data in pieces {
                written += data
                if written.range(of: Data("1 of 4 files, 2 failed".utf8)) != nil { gate.signal() }
                // The last line; the pipe's end may be put off by children of other tests that have inherited it.
                if written.range(of: Data("No such file. Check the path.\n".utf8)) != nil { break }
            }
        }
        let lines = String(decoding: written, as: UTF8.self).split(separator: "\n")
        #expect(result.status == 22)
        #expect(result.text == "AB/c")
        try #require(lines.count == 3)
        let frames = lines[0].split(separator: "\r").map(String.init)
        #expect(frames.contains { $0.hasPrefix("1 of 4 files, 2 failed  ") })
        #expect(frames.allSatisfy { SafeText.width(of: $0) < 100 })
        let last = try #require(frames.last)
        #expect(last.hasPrefix("2 of 4 files  "))
        #expect(last.contains("  100 %  300 kB  "))
        #expect(last.contains("  2 failed"))
        #expect(lines[1].hasPrefix("upload: a: The server refused the upload: 500"))
        #expect(lines[2] == "upload: missing: No such file. Check the path.")
    }

    @Test func sideBySide() async throws {
        server.route(nil, "*", waiting)
        let result = try await tool.run("-P", "3", "a", "b", "c", url) { _ in
            try await server.wait { $0.requests.count == 3 }
            for _ in 0..<3 { gate.signal() }
        }
        #expect(result.status == 0)
        #expect(result.text == "/a/b/c")
    }

    @Test func oneAfterTheOther() async throws {
        for name in ["d", "e", "f"] { try tool.folder.write(name, name) }
        let result = try await tool.run("--parallel=1", "f", "e", "d", url)
        #expect(result.status == 0)
        #expect(result.text == "fed")
        #expect(server.requests.map(\.target) == ["/f", "/e", "/d"])
        #expect(server.connectionCount == 1)
    }

    /// The first failure of the command line decides, though it comes last.
    @Test func aFailureStopsNoOther() async throws {
        server.route(nil, "/a", waiting: gate, status: 404)
        server.route(nil, "/b", LoopbackServer.failing(after: 0, reset: true))
        let result = try await tool.run("--retry", "0", "a", "b", "missing", "c", url) { _ in
            try await server.wait { $0.requests.contains { $0.target == "/c" && $0.ended } }
            gate.signal()
        }
        #expect(result.status == 22)
        #expect(result.text.hasSuffix(String(repeating: "c", count: 100_000)))
        #expect(result.errorLines.count == 3)
        for (line, name) in zip(result.errorLines, ["a", "b", "missing"]) {
            #expect(line.hasPrefix("upload: \(name): "), "\(line)")
        }
    }
}

extension LoopbackServer {
    /// Refuses once the gate is opened.
    fileprivate func route(_ method: String?, _ path: String, waiting gate: DispatchSemaphore, status: Int) {
        route(method, path) { exchange in
            try exchange.readBody()
            _ = gate.wait(timeout: .now() + 30)
            try exchange.respond(status)
        }
    }
}
