import AsyncUpload
import Foundation

/// What does a job in a process of its own, and prints how many seconds the uploads took.
enum Child: String, CaseIterable {
    case asyncUpload = "AsyncUpload"
    case asyncUploadOverURLSession = "AsyncUpload, URLSession"
    case foundationFile = "Foundation, file"
    case foundationData = "Foundation, data"
    case foundationDelegate = "Foundation, delegate"

    var contestant: Contestant {
        Contestant(name: rawValue, explanation: explanation, canDo: canDo) { job, files, url in
            let specification = String(decoding: try JSONEncoder().encode(job), as: UTF8.self)
            return Contestant.Command(
                program: CommandLine.arguments[0],
                arguments: ["child", rawValue, specification, files.folder.path, url.absoluteString]
            )
        }
    }

    private var explanation: String {
        switch self {
        case .asyncUpload: "Uploader.response(for:from:) with the transport that .automatic is"
        case .asyncUploadOverURLSession: "the same with the transport .urlSession"
        case .foundationFile: "URLSession.upload(for:fromFile:)"
        case .foundationData: "URLSession.upload(for:from:), of a file read into memory"
        case .foundationDelegate: "URLSession.uploadTask(with:fromFile:) and a delegate that is told of progress"
        }
    }

    private func canDo(_ job: Job) -> Bool {
        switch self {
        case .asyncUpload: true
        case .asyncUploadOverURLSession: job.authority == nil
        // On Linux it cannot be told whom to trust.
        case .foundationFile, .foundationDelegate: job.body == .file && job.isPlain && job.authority == nil
        case .foundationData: [.file, .data].contains(job.body) && job.isPlain && job.authority == nil
        }
    }

    /// Does the job, then prints how long that took.
    func run(_ job: Job, _ files: JobFiles, _ url: URL) async throws {
        var request = URLRequest.put(to: url)
        if job.body == .form { request.httpMethod = "POST" }
        // What anybody would have at hand is not made anew each time.
        let files = (0..<job.fileCount).map(files.file)
        let data = job.body == .data ? Data(repeating: 1, count: job.byteCount) : nil
        let clock = ContinuousClock()
        let duration: Duration
        switch self {
        case .asyncUpload, .asyncUploadOverURLSession:
            let sender = try AsyncUploadSender(job, isOverURLSession: self == .asyncUploadOverURLSession)
            duration = try await clock.measure { try await sender.run(files, data, with: request) }
        case .foundationFile, .foundationData, .foundationDelegate:
            let sender = FoundationSender(job, self)
            duration = try await clock.measure { try await sender.run(files, data, with: request) }
        }
        print(duration / .seconds(1))
    }
}

extension Job {
    /// Whether nothing is asked for that only some can do.
    var isPlain: Bool {
        reading == .response && resuming == nil && !isQueued
    }
}

extension URLRequest {
    static func put(to url: URL) -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        return request
    }
}
