import AsyncUpload
import Foundation
import LoopbackServer
import Testing

@testable import upload

/// What the tests of resumable uploads have in common: a file, a folder for checkpoints and a server.
struct ResumableFixture {
    let tool: Tool
    let server: LoopbackServer
    let file: Data

    /// - Parameter size: of `movie.bin`, which has no two equal stretches.
    init(size: Int) throws {
        tool = try Tool()
        server = try LoopbackServer()
        file = Self.bytes(size, seed: 1)
        try tool.folder.write("movie.bin", file)
    }

    static func bytes(_ count: Int, seed: UInt64) -> Data {
        var state = seed
        var data = Data(capacity: count + 8)
        while data.count < count {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            withUnsafeBytes(of: state ^ state >> 29) { data.append(contentsOf: $0) }
        }
        return data.prefix(count)
    }

    /// Runs the tool with the file in a pipe.
    static let piping = ["/bin/sh", "-c", #"cat movie.bin | "$0" "$@""#]

    /// The protocols whose bytes arrive in order.
    static let sequential = ["tus", "ietf", "gcs"]

    /// Has a server for a protocol.
    ///
    /// - Returns: where it stores, and what the command line says of it.
    func install(_ kind: String, script: @escaping UploadScript = { _ in nil }) -> (UploadStore, [String]) {
        let store = UploadStore()
        let path: String
        switch kind {
        case "tus":
            TusServer(store: store, whenBusy: .wait(upTo: .seconds(20)), script: script).install(on: server)
            path = "/files"
        case "ietf":
            ResumableDraftServer(store: store, script: script).install(on: server)
            path = "/upload"
        case "gcs":
            GCSServer(store: store, script: script).install(on: server)
            path = "/upload/storage/v1/b/bucket/o?uploadType=resumable"
        default:
            S3Server(store: store, script: script).install(on: server)
            path = "/bucket/movie.bin"
        }
        let partURLs = kind == "s3" ? ["--part-urls", "@urls.json"] : []
        return (store, ["--resumable", kind] + partURLs + ["movie.bin", server.url(path).absoluteString])
    }

    /// Keeps the first requests with a body from coming to their end, so that no signal comes too late.
    static func stalling(_ kind: String, after bytes: Int64 = 3_000_000, times: Int = 1) -> UploadScript {
        let method = kind == "tus" ? "PATCH" : "PUT"
        return { $0.method == method && $0.numberOfMethod <= times ? .stallAfter(bytes) : nil }
    }

    /// Begins a multipart upload and writes its URLs down.
    func writePartURLs(_ name: String = "urls.json", parts: Int, list: Bool = true) async throws {
        var request = URLRequest(url: server.url("/bucket/movie.bin?uploads"))
        request.httpMethod = "POST"
        let answer = try await Uploader().send(request).text()
        let identifier = try #require(answer.firstMatch(of: /<UploadId>(.+)<\/UploadId>/)?.1)
        let base = server.url("/bucket/movie.bin").absoluteString + "?uploadId=\(identifier)"
        var object: [String: Any] = ["uploadId": String(identifier), "complete": base, "abort": base, "get": base]
        object["parts"] = (1...parts).map { base + "&partNumber=\($0)&signature=x" }
        if list { object["list"] = base }
        try tool.folder.write(name, JSONSerialization.data(withJSONObject: object))
    }

    // MARK: Waiting

    struct TookTooLong: Error {}

    /// Looks again and again.
    func wait(until condition: () throws -> Bool) async throws {
        let deadline = ContinuousClock.now.advanced(by: .seconds(60))
        while try !condition() {
            guard .now < deadline else { throw TookTooLong() }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// The checkpoints in the folder `state`.
    var checkpoints: [URL] {
        get throws {
            let folder = tool.folder.url.appendingPathComponent("state")
            guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
            return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
                .filter { $0.pathExtension == "checkpoint" }
        }
    }

    /// Runs the tool until so many bytes are stored and there is a checkpoint, and sends it a signal then.
    @discardableResult
    func interrupt(
        _ arguments: [String],
        _ store: UploadStore,
        at offset: Int64,
        with signal: Int32 = SIGKILL
    ) async throws -> Tool.Result {
        let isKept = arguments.contains("--state")
        return try await tool.run(["--limit-rate", "2M"] + arguments) { process in
            try await wait {
                guard let upload = store.uploads.last else { return false }
                return try upload.offset >= offset && (!isKept || !checkpoints.isEmpty)
            }
            kill(process, signal)
        }
    }

    /// How many bytes the requests after the first ones have carried.
    func bytes(after count: Int) -> Int64 {
        server.requests.dropFirst(count).reduce(0) { $0 + $1.bodyByteCount }
    }
}
