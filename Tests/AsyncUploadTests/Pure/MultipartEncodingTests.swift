import Foundation
import Testing

@testable import AsyncUpload

@Suite("Forms as they are written down", .timeLimit(.minutes(5)))
struct MultipartEncodingTests {
    private func bytes(of form: MultipartForm, inPiecesOf size: Int = 1000) throws -> String {
        let source = try MultipartEncoding(form, boundary: "B").open().source()
        let bytes = try source.bytes(inPiecesOf: size)
        #expect(source.length == Int64(bytes.count))
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("A form without parts is its end")
    func empty() throws {
        #expect(try bytes(of: MultipartForm()) == "--B--\r\n")
    }

    @Test("Fields, data, JSON and files, each with what a browser says of it", arguments: [1, 7, 1000])
    func everyKind(pieceSize: Int) throws {
        let scratch = try ScratchFolder()
        var form = MultipartForm()
        form.append("Ann", name: "author")
        form.append(.data(Data("\r\nraw\r\n".utf8)), name: "raw")
        form.append(.json(["a": 1]), name: "json")
        form.append(.data(Data("x".utf8)), name: "data", filename: "x.PNG")
        form.append(.data(Data()), name: "none", filename: "", contentType: "a/b")
        form.append(fromFile: try scratch.file(Data("film".utf8), name: "a.b.mp4"), name: "film")
        form.append(fromFile: try scratch.file(Data(), name: "empty"), name: "film", filename: "f.unknown")
        let expected = """
            --B
            Content-Disposition: form-data; name="author"

            Ann
            --B
            Content-Disposition: form-data; name="raw"


            raw

            --B
            Content-Disposition: form-data; name="json"
            Content-Type: application/json

            {"a":1}
            --B
            Content-Disposition: form-data; name="data"; filename="x.PNG"
            Content-Type: image/png

            x
            --B
            Content-Disposition: form-data; name="none"; filename=""
            Content-Type: a/b


            --B
            Content-Disposition: form-data; name="film"; filename="a.b.mp4"
            Content-Type: video/mp4

            film
            --B
            Content-Disposition: form-data; name="film"; filename="f.unknown"
            Content-Type: application/octet-stream


            --B--

            """
        #expect(try bytes(of: form, inPiecesOf: pieceSize) == LineBreaks.normalized(expected))
    }

    @Test(
        "C49, C50: names stay as they are, but for quotes and line breaks",
        arguments: [
            (#"a"b"#, "a%22b", "a%22b"), ("a\nb", "a%0D%0Ab", "a%0Ab"), ("a\rb", "a%0D%0Ab", "a%0Db"),
            ("a\r\nb", "a%0D%0Ab", "a%0D%0Ab"), (#"\;%41()"#, #"\;%41()"#, #"\;%41()"#),
            ("フェニックス😀\u{202e}x", "フェニックス😀\u{202e}x", "フェニックス😀\u{202e}x"),
            ("e\u{301}\r", "e\u{301}%0D%0A", "e\u{301}%0D"),
        ]
    )
    func names(name: String, asName: String, asFilename: String) throws {
        var form = MultipartForm()
        form.append(.data(Data()), name: name, filename: name)
        let line = "Content-Disposition: form-data; name=\"\(asName)\"; filename=\"\(asFilename)\"\r\n"
        #expect(try Data(bytes(of: form).utf8).range(of: Data(line.utf8)) != nil)
        #expect(try bytes(of: form).components(separatedBy: "\r\n").count == 7)
    }

    @Test("Lone line breaks in a text become pairs, and stay as they are in data")
    func lineBreaks() throws {
        var form = MultipartForm()
        form.append("a\nb\rc\r\nd\n\r", name: "t")
        form.append(.data(Data("a\nb".utf8)), name: "d")
        let text = try bytes(of: form)
        #expect(text.contains("\r\n\r\na\r\nb\r\nc\r\nd\r\n\r\n\r\n--B"))
        #expect(text.utf8.count(where: { $0 == 10 }) == text.utf8.count(where: { $0 == 13 }) + 1)
    }

    @Test("C51: boundaries are new each time, short, and need no quotes")
    func boundaries() throws {
        let types = (0..<100).compactMap { _ in UploadBody.multipart(MultipartForm()).contentType }
        #expect(Set(types).count == 100)
        for type in types {
            let boundary = try #require(type.wholeMatch(of: /multipart\/form-data; boundary=([A-Za-z0-9-]+)/)?.1)
            #expect(boundary.count <= 70)
        }
    }

    @Test(
        "C51: the boundary that is sent is the body's, whatever the request says",
        arguments: [
            ("multipart/form-data", "multipart/form-data; boundary=B"),
            ("Multipart/Mixed; boundary=\"x;y\"; charset=utf-8", "Multipart/Mixed; boundary=B; charset=utf-8"),
            ("multipart/form-data;boundary=C", "multipart/form-data; boundary=B"),
            ("text/plain", "multipart/form-data; boundary=B"), ("", "multipart/form-data; boundary=B"),
            ("multipart/", "multipart/form-data; boundary=B"),
            ("multipart/form-data; a=\"x", "multipart/form-data; boundary=B; a=\"x"),
            ("multipart/x; boundaryless=1; Boundary*0=y; BOUNDARY = z", "multipart/x; boundary=B; boundaryless=1"),
            ("multipart/form-data boundary=old", "multipart/form-data; boundary=B"),
        ]
    )
    func contentType(given: String, sent: String) {
        #expect(MultipartEncoding(MultipartForm(), boundary: "B").contentType(replacing: given) == sent)
    }

    @Test("A form in a form has a boundary of its own")
    func nested() throws {
        var inner = MultipartForm()
        inner.append("1", name: "a")
        let innerBody = UploadBody.multipart(inner)
        var form = MultipartForm()
        form.append(innerBody, name: "form")
        let text = try bytes(of: form)
        #expect(text.contains("Content-Type: \(innerBody.contentType ?? "-")\r\n\r\n--AsyncUpload-"))
        #expect(text.hasSuffix("--\r\n\r\n--B--\r\n"))
        form.append(innerBody, name: "mixed", contentType: "multipart/mixed")
        let boundary = try #require(innerBody.contentType?.components(separatedBy: "; ").last)
        #expect(try bytes(of: form).contains("Content-Type: multipart/mixed; \(boundary)\r\n\r\n--AsyncUpload-"))
    }

    @Test("An empty content type is none")
    func noContentType() throws {
        var form = MultipartForm()
        form.append(.data(Data()), name: "a", filename: "b.png", contentType: "")
        #expect(try !bytes(of: form).contains("Content-Type"))
    }

    @Test("A content type that would become other lines is refused", arguments: ["a/b\r\nX: y", "a\nb", "a\0"])
    func contentTypeWithLineBreak(type: String) throws {
        var form = MultipartForm()
        form.append(.data(Data()), name: "a", contentType: type)
        let error = #expect(throws: UploadError.self) { _ = try UploadBody.multipart(form).open() }
        #expect(error?.code == .invalidRequest)
    }

    @Test("What cannot be sent fails before anything is")
    func failures() throws {
        let scratch = try ScratchFolder()
        for (body, code) in [
            (UploadBody.file(scratch.path()), UploadError.Code.fileNotFound), (.file(scratch.url), .notARegularFile),
            (.json(Double.nan), .bodyNotEncodable), (.stream(pieces(of: Data()), length: -1), .bodyLengthMismatch),
        ] {
            var form = MultipartForm()
            form.append("fine", name: "a")
            form.append(body, name: "b")
            let error = #expect(throws: UploadError.self) { _ = try UploadBody.multipart(form).open() }
            #expect(error?.code == code)
        }
    }

    @Test("Lengths that are too much together are an error and no trap")
    func overflow() throws {
        var form = MultipartForm()
        for name in ["a", "b"] { form.append(.stream(pieces(of: Data()), length: .max), name: name) }
        let error = #expect(throws: UploadError.self) { _ = try UploadBody.multipart(form).open() }
        #expect(error?.code == .bodyLengthMismatch)
    }

    @Test("The length is known if that of every part is")
    func lengths() throws {
        func form(_ body: UploadBody) -> MultipartForm {
            var form = MultipartForm()
            form.append(body, name: "b")
            return form
        }
        let expected = try MultipartEncoding(form(.data(Data(count: 10))), boundary: "B").open().source().length
        var form = form(.stream(pieces(of: Data()), length: 10))
        #expect(try MultipartEncoding(form, boundary: "B").open().length == expected)
        form.append(.stream(pieces(of: Data())), name: "c")
        #expect(try MultipartEncoding(form, boundary: "B").open().length == nil)
    }
}

@Suite("Bodies that consist of several", .timeLimit(.minutes(5)))
struct CompositeBodyTests {
    @Test("They are read from any offset in pieces of any size", arguments: [1, 2, 3, 5, 100])
    func anywhere(pieceSize: Int) throws {
        let parts = [bytes(3, seed: 1), Data(), bytes(1, seed: 2), bytes(7, seed: 3), Data()]
        let whole = parts.reduce(Data(), +)
        let source = CompositeBodySource(parts.map(DataBodySource.init))
        #expect(source.length == 11)
        for offset in 0...11 {
            var buffer = Data(count: pieceSize)
            let count = try buffer.withUnsafeMutableBytes { try source.read(into: $0, at: Int64(offset)) }
            #expect(buffer.prefix(count) == whole.dropFirst(offset).prefix(pieceSize))
        }
    }

    @Test("What is read next of a file begins with a page, whatever is before it", arguments: [1, 150, 4096, 5000])
    func pages(headSize: Int) throws {
        let (head, file) = (bytes(headSize, seed: 1), bytes(100_001, seed: 2))
        let source = CompositeBodySource([head, file, Data("end".utf8)].map(DataBodySource.init))
        var whole = Data()
        while case let piece = try source.bytes(at: Int64(whole.count), count: 16 << 10), !piece.isEmpty {
            whole += piece
            let isInside = whole.count > headSize && whole.count < headSize + file.count
            #expect(!isInside || (whole.count - headSize).isMultiple(of: 4096))
        }
        #expect(whole == head + file + Data("end".utf8))
    }

    @Test(
        "Of any number of files one is open at a time",
        .enabled(if: Platform.usesFoundationNetworking, "reads /proc")
    )
    func descriptors() throws {
        let scratch = try ScratchFolder()
        var form = MultipartForm()
        for number in 0..<50 { form.append(fromFile: try scratch.file(bytes(100), name: "n\(number)"), name: "f") }
        func openFiles() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))?
                    .hasPrefix(scratch.url.path) == true
            }
        }
        let source = try UploadBody.multipart(form).open().source()
        #expect(try openFiles() == 0)
        var position: Int64 = 0
        var most = 0
        while position < source.length {
            var buffer = Data(count: 60)
            position += Int64(try buffer.withUnsafeMutableBytes { try source.read(into: $0, at: position) })
            most = max(most, try openFiles())
        }
        #expect(most == 1)
        #expect(try openFiles() == 0)
    }

    @Test("An empty file that gets bytes is noticed, wherever it is", arguments: 0..<3)
    func grows(place: Int) throws {
        let scratch = try ScratchFolder()
        let file = try scratch.file(Data())
        var sources: [any BodySource] = [DataBodySource(bytes(10)), DataBodySource(bytes(10))]
        sources.insert(try ReopenedFileSource(file), at: place)
        let source = CompositeBodySource(sources)
        #expect(try source.bytes(inPiecesOf: 7).count == 20)
        try bytes(1).write(to: file)
        let error = #expect(throws: UploadError.self) { try source.bytes(inPiecesOf: 7) }
        #expect(error?.code == .fileChanged)
    }

    @Test("A small form of texts is in one piece, in memory")
    func small() throws {
        var form = MultipartForm()
        form.append("a", name: "b")
        guard case .data = try UploadBody.multipart(form).open().source().contents else {
            Issue.record("not in memory")
            return
        }
        form.append(.data(Data(count: 100_000)), name: "b")
        guard case .composite = try UploadBody.multipart(form).open().source().contents else {
            Issue.record("copied")
            return
        }
    }

    @Test("A file that was changed, replaced or removed after the beginning is noticed", arguments: 0..<4)
    func changed(how: Int) throws {
        let scratch = try ScratchFolder()
        let file = try scratch.file(bytes(100), name: "f")
        var form = MultipartForm()
        form.append(fromFile: file, name: "f")
        let source = try UploadBody.multipart(form).open().source()
        switch how {
        case 0: try bytes(99).write(to: file)
        case 1: try bytes(101).write(to: file)
        case 2:
            try bytes(100, seed: 9).write(to: scratch.path("other"))
            #expect(rename(scratch.path("other").path, file.path) == 0)
        default: try FileManager.default.removeItem(at: file)
        }
        let error = #expect(throws: UploadError.self) { try source.bytes(inPiecesOf: 50) }
        #expect(error?.code == (how == 3 ? .fileNotFound : .fileChanged))
        let late = #expect(throws: UploadError.self) { try source.checkUnchanged() }
        #expect(late?.code == error?.code)
    }
}
