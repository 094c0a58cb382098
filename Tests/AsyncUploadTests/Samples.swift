import AsyncUpload
import Foundation
import LoopbackServer
import Testing

/// The samples of the README and the documentation, word for word: they compile, and they run.
@Suite(.timeLimit(.minutes(5))) struct Samples {
    struct Order: Encodable { var item = "tea" }
    struct Receipt: Decodable { var item: String }

    let server: LoopbackServer
    let uploader = Uploader()
    let movie: URL
    let request: URLRequest
    let url: URL
    let order = Order()
    let data = Data(repeating: 1, count: 100_000)
    private let scratch: ScratchFolder

    init() throws {
        server = try LoopbackServer()
        server.route(nil, "/*", LoopbackServer.echo)
        scratch = try ScratchFolder()
        movie = try scratch.file(bytes(1_000_000))
        url = server.url("/sample")
        request = URLRequest(url: url, method: "PUT")
    }

    @Test func iterate() async throws {
        for try await event in uploader.upload(for: request, fromFile: movie) {
            switch event {
            case .progress(let fraction): print("\(Int(fraction * 100)) %")
            case .response(let body): print("done,", body?.count ?? 0, "bytes came back")
            }
        }
        #expect(server.requests.map(\.bodyByteCount) == [1_000_000])
    }

    @Test func await() async throws {
        let response = try await uploader.response(for: request, from: .json(order))
        let receipt = try response.decode(Receipt.self)
        #expect(receipt.item == "tea")
    }

    @Test func keepAHandle() async throws {
        let task = uploader.task(for: request, from: data)
        Task { for await progress in task.progress { print(progress.bytesSent, progress.bytesPerSecond) } }
        let response = try await task.response
        #expect(response.body == data)
    }

    private struct Archive {
        let data: Data

        func chunks() async throws -> Pieces { pieces(of: data) }
    }

    @Test func stream() async throws {
        let archive = Archive(data: data)
        let size = Int64(data.count)
        let body = UploadBody.stream(length: size) { try await archive.chunks() }
        let response = try await uploader.response(for: request, from: body)
        #expect(response.body == data)
    }

    @Test func progressByClosure() async throws {
        server.route(nil, "/sample", LoopbackServer.accept(body: "stored"))
        let response = try await uploader.upload(for: .post(url), fromFile: movie) { progress in
            print("\(Int(progress.fraction * 100)) % of", progress.totalBytes ?? 0)
        }
        print(response.statusCode, response.text())
        #expect(server.requests.map(\.bodyByteCount) == [1_000_000])
    }

    @Test func completionHandler() async throws {
        let task = uploader.uploadTask(with: request, from: data) { progress in
            print(progress.bytesSent)
        } completionHandler: { result in
            switch result {
            case .success(let response): print("done:", response.statusCode)
            case .failure(let error): print("failed:", error.localizedDescription)
            }
        }
        print(task.currentProgress.fraction)
        #expect(try await task.response.body == data)
    }

    @Test func oneStream() async throws {
        for try await event in try uploader.upload(for: .post(url), from: .json(order)) {
            switch event {
            case .progress(let fraction): print(fraction)
            case .response(let body): print(String(decoding: body ?? Data(), as: UTF8.self))
            }
        }
        #expect(server.requests.map(\.method) == ["POST"])
    }

    @Test func requests() async throws {
        let page = try await uploader.send(.get(url, query: ["q": "tea & milk", "page": "2"]))
        print(page.mimeType ?? "", page.text(decodingHTMLEntities: true))

        let answer = try await uploader.send(.post(url, form: ["name": "Ann", "topic": "C++"]))
        print(answer.headers["Content-Type"] ?? "")

        let receipt = try await uploader.send(.post(url, json: order)).decode(Receipt.self)
        print(receipt.item)

        await uploader.reset()
        #expect(server.requests.map(\.target) == ["/sample?q=tea%20%26%20milk&page=2", "/sample", "/sample"])
        #expect(answer.text() == "name=Ann&topic=C%2B%2B")
        #expect(receipt.item == "tea")
    }

    @Test(arguments: [200, 422])
    func statusCheck(status: Int) async throws {
        server.route(nil, "/sample", LoopbackServer.accept(status: status, keeping: true, body: #"{"item":"tea"}"#))
        do {
            let response = try await uploader.response(for: .post(url), from: .json(order))
            print("stored:", try response.decode(Receipt.self).item)
        } catch let error as UploadError where error.code == .unacceptableStatus {
            print("refused:", error.response?.statusCode ?? 0, error.response?.text() ?? "")
        } catch let error as UploadError {
            print(error.code, error.localizedDescription)
        }
        #expect(server.requests.first?.body == Data(#"{"item":"tea"}"#.utf8))
    }

    @Test func formWithFiles() async throws {
        var form = MultipartForm()
        form.append("Ann", name: "author")
        form.append(fromFile: movie, name: "film", contentType: "video/mp4")
        let response = try await uploader.response(for: .post(url), from: .multipart(form))
        #expect(response.body?.range(of: bytes(1_000_000)) != nil)
    }

    @Test func manyFiles() async throws {
        let files = [movie, scratch.path("missing")]
        let items = try files.map { UploadItem(for: try .put(url.appending(path: $0.lastPathComponent)), fromFile: $0) }
        let results = await uploader.uploadAll(items, limit: 4) { progress in
            print("\(progress.completedCount) of \(progress.totalCount), \(Int(progress.fraction * 100)) %")
        }
        for (file, result) in zip(files, results) {
            if case .failure(let error) = result { print(file.lastPathComponent, error.localizedDescription) }
        }
        #expect(server.requests.map(\.bodyByteCount) == [1_000_000])
    }

    @Test func firstUpload() async throws {
        let url = server.url("/upload")

        var request = URLRequest(url: url)
        request.httpMethod = "PUT"

        let uploader = Uploader()
        for try await event in uploader.upload(for: request, fromFile: movie) {
            switch event {
            case .progress(let fraction): print("\(Int(fraction * 100)) %")
            case .response(let body): print("done,", body?.count ?? 0, "bytes came back")
            }
        }
        #expect(server.requests.first?.path == "/upload")
    }

    private struct Session { func renewedToken() async throws -> String { "new" } }

    private let session = Session()

    @Test func retries() async throws {
        server.route("PUT", "/sample") { exchange in
            try exchange.readBody()
            try exchange.respond(exchange.request.index == 0 ? 503 : 201)
        }
        let uploader = Uploader {
            $0.retry = .exponential(limit: 8, maximumDelay: .seconds(60))
            $0.idempotencyKey = .automatic
        }
        let task = uploader.task(for: request, fromFile: movie)
        for await progress in task.progress {
            if let delay = progress.retryingIn { print("again in \(delay) (\(progress.retryReason ?? ""))") }
        }
        let response = try await task.response
        #expect(response.metrics.attempts == 2)
        uploader.maximumUploadsInFlight = 2
        uploader.maximumUploadsInFlightPerHost = 1
        task.priority = 0.9
    }

    @Test func bearerToken() async throws {
        let bearer = BearerTokenInterceptor { _ in try await session.renewedToken() }
        let uploader = Uploader { $0.interceptors = [bearer] }
        _ = try await uploader.response(for: request, fromFile: movie)
        #expect(server.requests.map { $0.header("Authorization") } == ["Bearer new"])
    }

    @Test func badDay() async throws {
        let bearer = BearerTokenInterceptor { _ in try await session.renewedToken() }
        let uploader = Uploader {
            $0.retry = .exponential(limit: 8)
            $0.interceptors = [bearer]
            $0.onActivity = { activity in print(activity) }
        }
        _ = try await uploader.response(for: request, fromFile: movie)
        #expect(server.requests.count == 1)
    }

    @Test func resumable() async throws {
        let store = UploadStore()
        TusServer(store: store).install(on: server, path: "/sample")
        let folder = scratch.path("checkpoints")
        let uploader = Uploader { $0.checkpointStore = DirectoryCheckpointStore(folder) }
        for try await event in try uploader.upload(for: .post(url), fromFile: movie, resuming: .tus()) {
            if case .progress(let fraction) = event { print("\(Int(fraction * 100)) %") }
        }
        #expect(store.uploads.map(\.data) == [bytes(1_000_000)])
    }

    @Test func namedCheckpoint() async throws {
        let store = UploadStore()
        TusServer(store: store).install(on: server, path: "/sample")
        let (day, size, archive) = ("Monday", Int64(data.count), Archive(data: data))
        var resuming = ResumableProtocol.tus()
        resuming.checkpointIdentifier = "backup of \(day)"
        let body = UploadBody.stream(length: size) { try await archive.chunks() }
        let response = try await uploader.response(for: .post(url), from: body, resuming: resuming)
        #expect(response.statusCode == 204)
        #expect(store.uploads.map(\.data) == [data])
    }

    private struct Backend {
        let url: URL

        func createUpload() async throws -> String {
            let answer = try await Uploader().send(
                URLRequest(url: url.appending(queryItems: [.init(name: "uploads", value: nil)]), method: "POST")
            )
            return answer.text().components(separatedBy: "<UploadId>").last?.components(separatedBy: "<").first ?? ""
        }

        func signedPart(_ number: Int, of upload: String) async throws -> URLRequest {
            let items = [
                URLQueryItem(name: "partNumber", value: "\(number)"), URLQueryItem(name: "uploadId", value: upload),
            ]
            return URLRequest(url: url.appending(queryItems: items), method: "PUT")
        }

        func signedCompletion(of upload: String) async throws -> URLRequest {
            URLRequest(url: url.appending(queryItems: [.init(name: "uploadId", value: upload)]), method: "POST")
        }

        func signedAbort(of upload: String) async throws -> URLRequest {
            URLRequest(url: url.appending(queryItems: [.init(name: "uploadId", value: upload)]), method: "DELETE")
        }
    }

    @Test func s3() async throws {
        let store = S3Server()
        store.install(on: server)
        let movie = try scratch.file(bytes(6_000_000))
        let backend = Backend(url: server.url("/bucket/movie"))
        let wholeObject = URLRequest(url: backend.url, method: "PUT")
        let s3 = S3MultipartOptions(
            create: { try await backend.createUpload() },
            part: { upload, number in try await backend.signedPart(number, of: upload) },
            complete: { upload in try await backend.signedCompletion(of: upload) },
            abort: { upload in try await backend.signedAbort(of: upload) }
        )
        let response = try await uploader.response(for: wholeObject, fromFile: movie, resuming: .s3Multipart(s3))
        #expect(response.statusCode == 200)
        #expect(store.object("/bucket/movie")?.data == bytes(6_000_000))
    }

    @Test func pause() async throws {
        let store = UploadStore()
        TusServer(store: store).install(on: server, path: "/sample")
        let task = try uploader.task(for: .post(url), fromFile: movie, resuming: .tus())
        task.pause()
        task.resume()
        task.cancel(removingRemote: true)
        await #expect(throws: CancellationError.self) { try await task.response }
    }

    @Test func activities() async throws {
        let uploader = Uploader { $0.onActivity = { activity in print(activity) } }
        _ = try await uploader.response(for: request, fromFile: movie)
        #expect(server.requests.count == 1)
    }

    /// Every block of Swift in the README and the documentation stands in this file, but for its indentation.
    @Test(arguments: [
        "README.md", "Sources/AsyncUpload/AsyncUpload.docc/AsyncUpload.md",
        "Sources/AsyncUpload/AsyncUpload.docc/Recipes.md", "Sources/AsyncUpload/AsyncUpload.docc/Retries.md",
        "Sources/AsyncUpload/AsyncUpload.docc/Resuming.md",
    ])
    func samplesAreCompiled(path: String) throws {
        let file = URL(fileURLWithPath: #filePath)
        let root = file.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let compiled = lines(of: try String(contentsOf: file, encoding: .utf8))
        let document = try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
        let blocks = document.components(separatedBy: "```swift\n").dropFirst().map {
            $0.components(separatedBy: "```")[0]
        }
        #expect(!blocks.isEmpty)
        for block in blocks {
            guard !block.hasPrefix(".package") else { continue }
            let wanted = lines(of: block).filter {
                !$0.hasPrefix("import ") && !$0.hasPrefix(".package") && !$0.hasPrefix(".product")
            }
            #expect(compiled.joined(separator: "\n").contains(wanted.joined(separator: "\n")), "\(block)")
        }
    }

    private func lines(of text: String) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }
}
