import AsyncUpload
import Foundation
import LoopbackServer
import Testing

/// The samples of the README and the documentation, word for word: they compile, and they run.
@Suite(.timeLimit(.minutes(1))) struct Samples {
    struct Order: Encodable { var item = "tea" }
    struct Receipt: Decodable { var item: String }

    let server: LoopbackServer
    let uploader = Uploader()
    let movie: URL
    let request: URLRequest
    let order = Order()
    let data = Data(repeating: 1, count: 100_000)
    private let scratch: ScratchFolder

    init() throws {
        server = try LoopbackServer()
        server.route(nil, "/*", LoopbackServer.echo)
        scratch = try ScratchFolder()
        movie = try scratch.file(bytes(1_000_000))
        request = URLRequest(url: server.url("/"), method: "PUT")
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

    /// Every block of Swift in the README and the documentation stands in this file, but for its indentation.
    @Test(arguments: [
        "README.md", "Sources/AsyncUpload/AsyncUpload.docc/AsyncUpload.md",
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
