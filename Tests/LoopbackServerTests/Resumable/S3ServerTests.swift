import Foundation
import LoopbackServer
import Testing

/// A client of multipart uploads that does what it is told.
struct S3Peer {
    let server: LoopbackServer
    let client: Client
    let s3: S3Server
    let upload: String

    /// Starts a multipart upload as well.
    init(_ s3: S3Server = S3Server(minimumPartSize: 3)) throws {
        server = try LoopbackServer()
        self.s3 = s3
        s3.install(on: server)
        client = try Client(port: server.port)
        let body = try client.ask("POST", "/bucket/k?uploads", [], "").body
        upload = body.components(separatedBy: "<UploadId>").last?.components(separatedBy: "<").first ?? ""
    }

    func part(_ number: Int, _ body: String) throws -> Answer {
        try client.ask("PUT", "/bucket/k?partNumber=\(number)&uploadId=\(upload)", [], body)
    }

    func complete(_ parts: [(Int, String)]) throws -> Answer {
        try client.ask("POST", "/bucket/k?uploadId=\(upload)", ["Content-Type: application/xml"], Self.document(parts))
    }

    static func document(_ parts: [(Int, String)]) -> String {
        let list = parts.map { "<Part>\n <PartNumber>\($0.0)</PartNumber><ETag>\($0.1)</ETag></Part>\n" }.joined()
        return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<CompleteMultipartUpload xmlns=\"http://s3/\">\(list)"
            + "</CompleteMultipartUpload>"
    }

    /// The code of an answer that is an error.
    func code(_ answer: Answer) -> String? {
        guard answer.body.contains("<Error><Code>") else { return nil }
        return answer.body.components(separatedBy: "<Code>").last?.components(separatedBy: "<").first
    }
}

extension LoopbackServerTests {
    @Suite struct S3 {
        @Test func storesAnObjectAtOnce() throws {
            let peer = try S3Peer()
            #expect(try peer.client.ask("HEAD", "/bucket/a").status == 404)
            let answer = try peer.client.ask("PUT", "/bucket/a?X-Amz-Signature=s", [], "abc")
            #expect(answer.status == 200)
            let etag = try #require(answer["ETag"])
            #expect(etag.hasPrefix("\"") && etag.hasSuffix("\"") && etag.utf8.count > 2)
            #expect(peer.s3.object("/bucket/a")?.data == Data("abc".utf8))
            let head = try peer.client.ask("HEAD", "/bucket/a")
            #expect(head["ETag"] == etag)
            #expect(head["Content-Length"] == "3")
        }

        @Test func storesAnObjectInParts() throws {
            let peer = try S3Peer()
            #expect(peer.upload == "multipart-1")
            let last = try #require(try peer.part(7, "z")["ETag"])
            let replaced = try #require(try peer.part(2, "abc")["ETag"])
            let first = try #require(try peer.part(2, "abc")["ETag"])
            #expect(first != replaced)
            let list = try peer.client.ask("GET", "/bucket/k?uploadId=\(peer.upload)").body
            let quoted = first.replacingOccurrences(of: "\"", with: "&quot;")
            #expect(list.contains("<Part><PartNumber>2</PartNumber><ETag>\(quoted)</ETag><Size>3</Size></Part><Part>"))
            #expect(list.contains("<IsTruncated>false</IsTruncated>"))
            let done = try peer.complete([(2, first), (7, last.replacingOccurrences(of: "\"", with: "&quot;"))])
            #expect(done.status == 200)
            #expect(done.body.hasPrefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<CompleteMultipartUploadResult>"))
            #expect(peer.s3.object("/bucket/k")?.data == Data("abcz".utf8))
            #expect(peer.code(try peer.complete([(2, first), (7, last)])) == "NoSuchUpload")
        }

        @Test func listsInPages() throws {
            let peer = try S3Peer(S3Server(pageSize: 2))
            for number in 1...3 { _ = try peer.part(number, "a") }
            let target = "/bucket/k?uploadId=\(peer.upload)"
            let first = try peer.client.ask("GET", target).body
            #expect(first.contains("<IsTruncated>true</IsTruncated>"))
            #expect(first.contains("<NextPartNumberMarker>2</NextPartNumberMarker>"))
            #expect(!first.contains("<PartNumber>3<"))
            let second = try peer.client.ask("GET", target + "&part-number-marker=2&max-parts=9").body
            #expect(second.contains("<PartNumber>3<"))
            #expect(!second.contains("<PartNumber>2<"))
            #expect(second.contains("<IsTruncated>false</IsTruncated>"))
        }

        @Test func refusesBodiesWithoutLength() throws {
            let peer = try S3Peer()
            #expect(peer.code(try peer.client.ask("PUT", "/bucket/a")) == "MissingContentLength")
            try peer.client.begin("PUT", "/bucket/a", ["Transfer-Encoding: chunked"])
            try peer.client.write("0\r\n\r\n")
            let answer = try peer.client.answer()
            #expect(answer.status == 501)
            #expect(peer.code(answer) == "NotImplemented")
            let small = try S3Peer(S3Server(maximumPartSize: 2))
            #expect(small.code(try small.part(1, "abc")) == "EntityTooLarge")
        }

        @Test func refusesBadParts() throws {
            let peer = try S3Peer()
            #expect(peer.code(try peer.part(0, "a")) == "InvalidArgument")
            #expect(peer.code(try peer.part(10_001, "a")) == "InvalidArgument")
            let other = "/bucket/other?partNumber=1&uploadId=\(peer.upload)"
            #expect(peer.code(try peer.client.ask("PUT", other, [], "a")) == "NoSuchUpload")
            #expect(
                peer.code(try peer.client.ask("PUT", "/bucket/k?partNumber=1&uploadId=x", [], "a")) == "NoSuchUpload"
            )
        }

        @Test func refusesBadCompletions() throws {
            let peer = try S3Peer()
            let small = try #require(try peer.part(1, "ab")["ETag"])
            let large = try #require(try peer.part(2, "abc")["ETag"])
            func code(_ parts: [(Int, String)]) throws -> String? {
                let answer = try peer.complete(parts)
                #expect(answer.status == 400)
                return peer.code(answer)
            }
            #expect(try code([(1, small), (2, large)]) == "EntityTooSmall")
            #expect(try code([(2, large), (1, small)]) == "InvalidPartOrder")
            #expect(try code([(2, large), (2, large)]) == "InvalidPartOrder")
            #expect(try code([(1, large)]) == "InvalidPart")
            #expect(try code([(3, large)]) == "InvalidPart")
            #expect(try code([(2, large.replacingOccurrences(of: "\"", with: ""))]) == "InvalidPart")
            #expect(try code([]) == "MalformedXML")
            #expect(try code([(2, "<b/>")]) == "MalformedXML")
            let form = ["Content-Type: application/x-www-form-urlencoded"]
            let target = "/bucket/k?uploadId=\(peer.upload)"
            let document = S3Peer.document([(2, large)])
            #expect(peer.code(try peer.client.ask("POST", target, form, document)) == "InvalidRequest")
            #expect(peer.code(try peer.client.ask("POST", target, [], document + "<")) == "MalformedXML")
            #expect(peer.s3.object("/bucket/k") == nil)
            #expect(try peer.complete([(2, large)]).status == 200)
        }

        @Test func aborts() throws {
            let peer = try S3Peer()
            let etag = try peer.part(1, "a")["ETag"] ?? ""
            let target = "/bucket/k?uploadId=\(peer.upload)"
            #expect(try peer.client.ask("DELETE", target).status == 204)
            #expect(try peer.client.ask("DELETE", target).status == 404)
            #expect(peer.code(try peer.complete([(1, etag)])) == "NoSuchUpload")
            #expect(peer.code(try peer.part(2, "a")) == "NoSuchUpload")
            #expect(peer.code(try peer.client.ask("GET", target)) == "NoSuchUpload")
            #expect(!peer.s3.store.uploads.contains { !$0.isGone })
        }

        @Test func checksTheURL() throws {
            let peer = try S3Peer(S3Server(signature: "s"))
            #expect(peer.code(try peer.client.ask("PUT", "/bucket/a", [], "a")) == "SignatureDoesNotMatch")
            let target = "/bucket/a?X-Amz-Signature=s"
            #expect(peer.code(try peer.client.ask("PUT", target, ["Authorization: x"], "a")) == "InvalidArgument")
            #expect(try peer.client.ask("PUT", target + "&v=1", [], "a").status == 200)
            peer.s3.expire("v=1")
            let answer = try peer.client.ask("PUT", target + "&v=1", [], "a")
            #expect(answer.status == 403)
            #expect(peer.code(answer) == "AccessDenied")
            #expect(try peer.client.ask("PUT", target + "&v=2", [], "a").status == 200)
        }
    }

    @Suite struct S3Faults {
        @Test func failsAfterTheStatus() throws {
            let peer = try S3Peer(S3Server(completesSlowly: true, script: on("POST", 2, .lateError("InternalError"))))
            let etag = try peer.part(1, "abc")["ETag"] ?? ""
            func complete() throws -> String {
                let document = S3Peer.document([(1, etag)])
                try peer.client.begin("POST", "/bucket/k?uploadId=\(peer.upload)", [], length: document.utf8.count)
                try peer.client.write(document)
                return try peer.client.read(until: "0\r\n\r\n")
            }
            let failed = try complete()
            #expect(failed.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(failed.contains("\r\nTransfer-Encoding: chunked\r\n"))
            #expect(failed.contains("\r\n\r\n3\r\n   \r\n3\r\n \n \r\n"))
            #expect(failed.contains("<Error><Code>InternalError</Code>"))
            #expect(peer.s3.object("/bucket/k") == nil)
            let succeeded = try complete()
            #expect(succeeded.contains("\r\n\r\n3\r\n   \r\n"))
            #expect(succeeded.contains("<CompleteMultipartUploadResult>"))
            #expect(peer.s3.object("/bucket/k")?.offset == 3)
        }

        @Test func truncatesTheDocument() throws {
            let peer = try S3Peer(S3Server(script: on("GET", .shortBody(50))))
            #expect(
                try peer.client.ask("GET", "/bucket/k?uploadId=\(peer.upload)").body
                    == "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListPartsR"
            )
        }

        @Test func storesNothingOfABrokenPut() throws {
            let peer = try S3Peer(S3Server(script: on("PUT", 1, .closeAfter(2))))
            try peer.client.begin("PUT", "/bucket/k?partNumber=1&uploadId=\(peer.upload)", [], length: 9)
            try peer.client.write("abc")
            #expect(try peer.client.readToEnd() == "")
            peer.client.disconnect()
            let next = try Client(port: peer.server.port)
            let list = try next.ask("GET", "/bucket/k?uploadId=\(peer.upload)").body
            #expect(list.contains("<IsTruncated>"))
            #expect(!list.contains("<Part>"))
            #expect(peer.s3.store.uploads.last?.isGone == true)
        }

        @Test func keepsNoHalfPart() throws {
            let peer = try S3Peer(S3Server(script: on("PUT", 1, .keepOnly(2))))
            #expect(peer.code(try peer.part(1, "abc")) == "IncompleteBody")
            #expect(try peer.part(1, "abc").status == 200)
        }

        @Test func losesTheReply() throws {
            let peer = try S3Peer(S3Server(script: on("POST", 2, .loseReply)))
            let etag = try peer.part(1, "abc")["ETag"] ?? ""
            #expect(throws: Client.Failure.self) { try peer.complete([(1, etag)]) }
            let next = try Client(port: peer.server.port)
            #expect(try next.ask("HEAD", "/bucket/k")["Content-Length"] == "3")
        }

        @Test func forgetsAndRefuses() throws {
            let peer = try S3Peer(
                S3Server(script: {
                    $0.numberOfMethod == 1 && $0.method == "PUT" ? .answer(503) : $0.number == 3 ? .forget : nil
                })
            )
            #expect(try peer.part(1, "abc").status == 503)
            #expect(peer.code(try peer.part(1, "abc")) == "NoSuchUpload")
        }
    }
}
