import AsyncUpload
import Foundation
import Testing

extension Resuming {
    /// The tool is killed in the midst of an upload, and another process goes on where it was: what the server has in the
    /// end is the file.
    @Suite struct KilledProcesses {
        let bench: Bench
        let tool: UploadTool

        init() async throws {
            bench = try await Bench()
            tool = try UploadTool(in: bench.folder)
        }

        private static let size = 16_000_001
        /// How much comes before a connection stands still.
        private static let offset = 7_000_001

        /// What the tool is told, the file and the URL last.
        private func arguments(_ kind: ResumableServer.Kind, _ target: ResumableTarget) async throws -> [String] {
            var arguments = ["--state", "state", "-o", "response"]
            switch kind {
            case .resumableUpload, .tuspyserver, .seaweedTus:
                // tuspyserver wants to know the type.
                arguments += ["--resumable", "tus", "-H", "Content-Type: application/octet-stream"]
            case .gcsEmulator:
                arguments += ["--resumable", "gcs"]
            case .moto, .seaweedS3:
                try bench.folder.write("urls.json", try await target.object.partURLs(4))
                arguments += ["--resumable", "s3", "--part-urls", "@urls.json"]
            }
            return arguments + ["movie.bin", try #require(target.request.url).absoluteString]
        }

        @Test("It is killed and started again", arguments: ResumableServer.Kind.installed)
        func killed(kind: ResumableServer.Kind) async throws {
            let bytes = try randomBytes(Self.size)
            try bench.folder.write("movie.bin", bytes)
            // It holds on to what would otherwise be through when the signal comes.
            let (target, relay) = try bench.target(
                try #require(Route.installed.first { $0.kind == kind && !$0.isSecure }),
                [.stall(after: Self.offset)],
                waitsForServer: true
            )
            let command = ["-v", "--limit-rate", "16M"] + (try await arguments(kind, target))
            let first = try await tool.run(command) {
                guard relay.interferenceCount == 1, let checkpoint = try tool.checkpoints.first else { return false }
                // Three of four parts are there, and known to be.
                return !kind.isS3 || checkpoint.ranges(of: "entityTag").count == 3
            }
            #expect(first.status == -SIGKILL)
            try await eventually("the server keeps the connection") { relay.settledCount == 1 }

            let before = relay.byteCount
            let second = try await tool.run(command)
            #expect(second.status == 0)
            #expect(second.lines.contains("* movie.bin: going on with what was sent before"))
            // What was stored before is not sent again.
            #expect(relay.byteCount - before < Self.size - Self.offset + 100_000)
            #expect(try await target.stored(at: second.lastURL) == bytes)
            #expect(try tool.checkpoints.isEmpty)
        }

        /// Nothing is in between, and nothing holds on to the upload.
        @Test("It is killed again and again")
        func killedRepeatedly() async throws {
            let bytes = try randomBytes(Self.size)
            try bench.folder.write("movie.bin", bytes)
            let target = try bench.target(.resumableUpload)
            let command = try await arguments(.resumableUpload, target)
            for count in 1...4 {
                let result = try await tool.run(["--limit-rate", "4M", "--progress", "json"] + command) {
                    try Self.bytesSent(tool.output) >= count * 500_000
                }
                #expect(result.status == -SIGKILL)
            }
            let last = try await tool.run(["-v"] + command)
            #expect(last.status == 0)
            #expect(last.lines.contains("* movie.bin: going on with what was sent before"))
            #expect(try await target.stored(at: last.lastURL) == bytes)
            #expect(try tool.checkpoints.isEmpty)
        }

        /// As the last whole line with progress tells.
        private static func bytesSent(_ output: String) -> Int {
            output.matches(of: /"bytesSent":(\d+),/).last.flatMap { Int($0.1) } ?? 0
        }
    }
}
