import AsyncUpload
import Foundation

/// Does a job with an uploader that stays the same from the first upload to the last.
struct AsyncUploadSender {
    private let job: Job
    private let uploader: Uploader

    private static let pieceSize = 64 << 10

    init(_ job: Job, isOverURLSession: Bool) throws {
        self.job = job
        uploader = Uploader {
            $0.maximumUploadsInFlight = job.width
            if isOverURLSession { $0.transport = .urlSession }
            if let authority = job.authority {
                $0.tls.certificateAuthorities = .file(URL(fileURLWithPath: authority))
            }
        }
    }

    func run(_ files: [URL], _ data: Data?, with request: URLRequest) async throws {
        try await job.run { [self] number in
            try await send(try body(files[number], data), with: request)
        }
    }

    private func body(_ file: URL, _ data: Data?) throws -> UploadBody {
        switch job.body {
        case .file: return .file(file)
        case .data: return .data(data ?? Data())
        case .form:
            var form = MultipartForm()
            form.append(fromFile: file, name: "file")
            return .multipart(form)
        case .stream:
            return .stream { try Pieces(of: file, size: Self.pieceSize) }
        }
    }

    private func send(_ body: UploadBody, with request: URLRequest) async throws {
        if let resuming = job.resuming {
            let way: ResumableProtocol = resuming == "tus" ? .tus() : .ietf()
            try check(try await uploader.response(for: request, from: body, resuming: way).statusCode)
            return
        }
        switch job.reading {
        case .response: try check(try await uploader.response(for: request, from: body).statusCode)
        case .events: for try await _ in uploader.upload(for: request, from: body) {}
        case .slowly:
            for try await event in uploader.upload(for: request, from: body) {
                if case .progress = event { try await Task.sleep(for: .milliseconds(10)) }
            }
        }
    }

    private func check(_ status: Int) throws {
        guard (200..<300).contains(status) else { throw Failure(description: "the server answered \(status)") }
    }
}

/// A file's bytes in pieces, as if somebody made them on the way.
private struct Pieces: AsyncSequence, AsyncIteratorProtocol {
    private let handle: FileHandle
    private let size: Int

    init(of file: URL, size: Int) throws {
        handle = try FileHandle(forReadingFrom: file)
        self.size = size
    }

    func makeAsyncIterator() -> Pieces { self }

    func next() async throws -> Data? {
        guard let piece = try handle.read(upToCount: size), !piece.isEmpty else { return nil }
        return piece
    }
}
