import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

/// A server of a resumable protocol, with what it has stored, and an uploader that tries again at once.
struct ResumableLane {
    let lane: Lane
    let store: UploadStore
    /// What was told of the uploads, a line each.
    let log = Locked<[String]>([])

    var server: LoopbackServer { lane.server }
    var uploader: Uploader { lane.uploader }
    var scratch: ScratchFolder { lane.scratch }

    init(
        _ storage: UploadStore.Storage = .data,
        checkpoints: any CheckpointStore = MemoryCheckpointStore(),
        configure: (inout Uploader.Configuration) -> Void = { _ in }
    ) throws {
        store = UploadStore(storage)
        let log = log
        lane = try Lane { configuration in
            configuration.retry = .exponential(initialDelay: .milliseconds(5))
            configuration.checkpointStore = checkpoints
            configuration.onActivity = { activity in log.withLock { $0.append("\(activity)") } }
            configure(&configuration)
        }
    }

    /// A tus server at `/files`, and what goes wrong there.
    static func tus(
        extensions: Set<TusServer.Extension> = Set(TusServer.Extension.allCases),
        locationStyle: TusServer.LocationStyle = .path,
        checkpoints: any CheckpointStore = MemoryCheckpointStore(),
        script: @escaping UploadScript = { _ in nil },
        configure: (inout Uploader.Configuration) -> Void = { _ in }
    ) throws -> ResumableLane {
        let lane = try ResumableLane(checkpoints: checkpoints, configure: configure)
        TusServer(store: lane.store, extensions: extensions, locationStyle: locationStyle, script: script)
            .install(on: lane.server)
        return lane
    }

    /// A server of the IETF's draft: uploads go to `/upload`.
    static func draft(
        checkpoints: any CheckpointStore = MemoryCheckpointStore(),
        limits: ResumableDraftServer.Limits = .init(),
        script: @escaping UploadScript = { _ in nil },
        configure: (inout Uploader.Configuration) -> Void = { _ in }
    ) throws -> ResumableLane {
        let lane = try ResumableLane(checkpoints: checkpoints, configure: configure)
        ResumableDraftServer(store: lane.store, limits: limits, script: script).install(on: lane.server)
        return lane
    }

    var tusRequest: URLRequest { lane.request("/files", method: "POST") }
    var draftRequest: URLRequest { lane.request("/upload", method: "POST") }
    var s3Request: URLRequest { lane.request("/bucket/key") }

    /// What an app's own server would do.
    func s3Options(lists: Bool = false) -> S3MultipartOptions {
        let url = server.url("/bucket/key")
        let uploader = Uploader()
        @Sendable func request(_ method: String, _ query: String) -> URLRequest {
            var components = URLComponents(url: url, resolvingAgainstBaseURL: false) ?? URLComponents()
            components.percentEncodedQuery = query
            return URLRequest(url: components.url ?? url, method: method)
        }
        var options = S3MultipartOptions(
            create: {
                let answer = try await uploader.send(request("POST", "uploads")).text()
                return answer.components(separatedBy: "<UploadId>").last?.components(separatedBy: "<").first ?? ""
            },
            part: { request("PUT", "partNumber=\($1)&uploadId=\($0)") },
            complete: { request("POST", "uploadId=\($0)") },
            abort: { request("DELETE", "uploadId=\($0)") }
        )
        if lists { options.list = { request("GET", "uploadId=\($0)") } }
        options.partSize = 5 << 20
        options.parallelParts = 3
        return options
    }

    /// Whether the server sees a request once for each time that it is sent: where a connection breaks that was used before,
    /// `URLSession` sends it, or only its head, once more by itself.
    static let seesEachOnce = Carrier.underTest == .automatic

    /// The methods of the requests, and with which status they were answered.
    var exchanges: [String] {
        server.requests.map { "\($0.method) \($0.status.map(String.init) ?? "-")" }
    }

    /// Whether the log has a line with these words.
    func hasLogged(_ words: String) -> Bool {
        log.withLock { $0.contains { $0.contains(words) } }
    }

    /// Checks that the server has exactly one complete upload, with these bytes.
    func expectStored(_ data: Data, sourceLocation: SourceLocation = #_sourceLocation) {
        let complete = store.uploads.filter { $0.isComplete && !$0.isGone && $0.field("Upload-Concat") != "partial" }
        #expect(complete.count == 1, sourceLocation: sourceLocation)
        #expect(complete.first?.data == data, sourceLocation: sourceLocation)
    }
}
