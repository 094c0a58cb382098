import Foundation

extension S3Server {
    // MARK: ListParts

    func list(_ turn: Turn, _ items: [String: String], of upload: UploadStore.Upload) throws -> Reply {
        let marker = try number("part-number-marker", in: items) ?? 0
        let limit = min(try number("max-parts", in: items) ?? .max, Int64(pageSize))
        let parts = parts(of: upload).filter { $0.key > marker }.sorted { $0.key < $1.key }
        let page = parts.prefix(Int(clamping: limit))
        let isTruncated = page.count < parts.count
        var text = "<Key>\(escaped(upload.name))</Key><UploadId>\(upload.id)</UploadId>"
        text += "<PartNumberMarker>\(marker)</PartNumberMarker>"
        if isTruncated { text += "<NextPartNumberMarker>\(page.last?.key ?? marker)</NextPartNumberMarker>" }
        text += "<MaxParts>\(limit)</MaxParts><IsTruncated>\(isTruncated)</IsTruncated>"
        for (number, part) in page {
            text += "<Part><PartNumber>\(number)</PartNumber><ETag>\(escaped(etag(part.id)))</ETag>"
            text += "<Size>\(part.offset)</Size></Part>"
        }
        return .xml("ListPartsResult", text)
    }

    private func number(_ name: String, in items: [String: String]) throws -> Int64? {
        guard let text = items[name] else { return nil }
        guard let number = decimal(text) else { throw Reply.s3(400, "InvalidArgument", name) }
        return number
    }

    // MARK: CompleteMultipartUpload

    func complete(_ turn: Turn, _ upload: UploadStore.Upload) throws -> Reply {
        if turn.request.header("Content-Type")?.lowercased().hasPrefix("application/x-www-form-urlencoded") == true {
            throw Reply.s3(400, "InvalidRequest", "a form")
        }
        try turn.exchange.readBody(keeping: true)
        let text = String(decoding: turn.exchange.kept ?? Data(), as: UTF8.self)
        guard let listed = CompletedPart.list(in: text), !listed.isEmpty else { throw Reply.s3(400, "MalformedXML") }
        let parts = try checked(listed, of: upload)
        if let code = turn.script.lateError {
            return chunked(.s3(200, code), turn)
        }
        let id = store.create(upload.name, for: turn.request, id: { "object-\($0)" })
        store.join(parts.map(\.id), into: id)
        forget(upload)
        let reply = Reply.xml(
            "CompleteMultipartUploadResult",
            "<Key>\(escaped(upload.name))</Key><ETag>\(escaped(etag(id)))</ETag>"
        )
        return completesSlowly ? chunked(reply, turn) : reply
    }

    private func checked(_ listed: [CompletedPart], of upload: UploadStore.Upload) throws -> [UploadStore.Upload] {
        guard zip(listed, listed.dropFirst()).allSatisfy({ $0.number < $1.number }) else {
            throw Reply.s3(400, "InvalidPartOrder")
        }
        let stored = parts(of: upload)
        let parts = try listed.map { part in
            guard let found = stored[part.number], etag(found.id) == part.etag else {
                throw Reply.s3(400, "InvalidPart", "part \(part.number)")
            }
            return found
        }
        guard parts.dropLast().allSatisfy({ $0.offset >= minimumPartSize }) else {
            throw Reply.s3(400, "EntityTooSmall")
        }
        return parts
    }

    /// The answer as it looks when it took long: white space first, and in chunks.
    private func chunked(_ reply: Reply, _ turn: Turn) -> Reply {
        var reply = reply
        let whole = reply.body.prefix(turn.script.shortBody ?? .max)
        reply.headers.append(("Transfer-Encoding", "chunked"))
        reply.body = Data()
        for chunk in [Data("   ".utf8), Data(" \n ".utf8), whole] {
            reply.body += Data("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + Data("\r\n".utf8)
        }
        reply.body += Data("0\r\n\r\n".utf8)
        return reply
    }
}

extension Reply {
    static func xml(_ root: String, _ content: String, status: Int = 200) -> Reply {
        Reply(
            status,
            [("Content-Type", "application/xml")],
            body: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<\(root)>\(content)</\(root)>"
        )
    }

    static func s3(_ status: Int, _ code: String, _ message: String = "") -> Reply {
        .xml("Error", "<Code>\(code)</Code><Message>\(escaped(message))</Message>", status: status)
    }
}

/// `text` as it may stand in XML.
func escaped(_ text: String) -> String {
    text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
        .replacingOccurrences(of: ">", with: "&gt;").replacingOccurrences(of: "\"", with: "&quot;")
}

/// One part as the client lists it.
private struct CompletedPart {
    var number: Int64
    var etag: String

    /// The parts in a `CompleteMultipartUpload` document; nil if it is none.
    static func list(in text: String) -> [CompletedPart]? {
        var scanner = XMLScanner(text)
        guard scanner.open("CompleteMultipartUpload") else { return nil }
        var parts: [CompletedPart] = []
        while scanner.open("Part") {
            guard let part = CompletedPart(&scanner) else { return nil }
            parts.append(part)
        }
        return scanner.close("CompleteMultipartUpload") && scanner.isAtEnd ? parts : nil
    }

    private init?(_ scanner: inout XMLScanner) {
        var values: [String: String] = [:]
        while !scanner.close("Part") {
            let name = ["PartNumber", "ETag"].first { scanner.open($0) }
            guard let name, values[name] == nil else { return nil }
            values[name] = scanner.text()
            guard scanner.close(name) else { return nil }
        }
        guard let number = decimal(values["PartNumber"] ?? ""), let etag = values["ETag"] else { return nil }
        (self.number, self.etag) = (number, etag)
    }
}

/// As much XML as is needed here.
private struct XMLScanner {
    private var rest: Substring

    init(_ text: String) {
        rest = text[...]
        skipSpace()
        if rest.hasPrefix("<?xml "), let end = rest.range(of: "?>") { rest = rest[end.upperBound...] }
    }

    var isAtEnd: Bool { rest.allSatisfy(\.isWhitespace) }

    mutating func open(_ name: String) -> Bool {
        skipSpace()
        guard rest.hasPrefix("<\(name)"), let end = rest.firstIndex(of: ">") else { return false }
        let attributes = rest[..<end].dropFirst(name.count + 1)
        guard attributes.first?.isWhitespace != false else { return false }
        rest = rest[rest.index(after: end)...]
        return true
    }

    mutating func close(_ name: String) -> Bool {
        skipSpace()
        guard rest.hasPrefix("</\(name)>") else { return false }
        rest = rest.dropFirst(name.count + 3)
        return true
    }

    mutating func text() -> String {
        let raw = rest.prefix { $0 != "<" }
        rest = rest[raw.endIndex...]
        return [("&quot;", "\""), ("&#34;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")].reduce(String(raw)) {
            $0.replacingOccurrences(of: $1.0, with: $1.1)
        }
    }

    private mutating func skipSpace() {
        rest = rest.drop(while: \.isWhitespace)
    }
}
