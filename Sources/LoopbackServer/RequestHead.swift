import Foundation

/// Why something that should have been a request's head is none, with the status that tells the peer.
struct Rejection: Error {
    let status: Int
    let reason: String

    init(_ reason: String, status: Int = 400) {
        self.status = status
        self.reason = reason
    }
}

/// A parsed head. The parser is strict, since the server is there to find a client's mistakes.
struct RequestHead: Sendable {
    static let limit = 1 << 20

    let text: String
    let method: String
    let target: String
    let path: String
    let isVersion10: Bool
    let fields: [(name: String, value: String)]
    let framing: BodyFraming

    /// Parses `bytes`, which end with the first blank line and have CR LF line ends only.
    init(parsing bytes: UnsafeRawBufferPointer) throws(Rejection) {
        text = latin1(bytes[...])
        var lines = RequestHead.lines(bytes)
        let words = lines.removeFirst().split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard words.count == 3, isToken(words[0]), !words[1].isEmpty, words[1].allSatisfy({ $0 > 0x20 && $0 != 0x7f })
        else { throw Rejection("bad request line") }
        method = latin1(words[0])
        target = latin1(words[1])
        path = RequestHead.path(of: target)
        switch latin1(words[2]) {
        case "HTTP/1.1": isVersion10 = false
        case "HTTP/1.0": isVersion10 = true
        default: throw Rejection("bad version")
        }
        var fields: [(name: String, value: String)] = []
        for line in lines { fields.append(try RequestHead.field(line)) }
        self.fields = fields
        framing = try RequestHead.framing(fields, isVersion10: isVersion10)
    }

    /// Whether a comma-separated field called `name` lists `token`, both in any case.
    func has(_ name: String, listing token: String) -> Bool {
        fields.contains { field in
            isSame(field.name, name)
                && field.value.split(separator: ",").contains {
                    isSame(String(decoding: RequestHead.trimmed($0.utf8), as: UTF8.self), token)
                }
        }
    }

    private static func lines(_ bytes: UnsafeRawBufferPointer) -> [Slice<UnsafeRawBufferPointer>] {
        bytes.dropLast(4).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
    }

    private static func path(of target: String) -> String {
        var path = target.prefix { $0 != "?" && $0 != "#" }
        if path.lowercased().hasPrefix("http://") {
            path = path.dropFirst(7).drop { $0 != "/" }
            if path.isEmpty { return "/" }
        }
        return String(path)
    }

    private static func field(
        _ line: Slice<UnsafeRawBufferPointer>
    ) throws(Rejection) -> (name: String, value: String) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), isToken(line[..<colon]) else {
            throw Rejection("bad header field")
        }
        let value = line[(colon + 1)...]
        guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else { throw Rejection("bad field value") }
        return (latin1(line[..<colon]), latin1(trimmed(value)))
    }

    private static func trimmed<Bytes: BidirectionalCollection<UInt8>>(_ value: Bytes) -> Bytes.SubSequence {
        func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        let start = value.drop(while: isBlank)
        return start.lastIndex { !isBlank($0) }.map { start[...$0] } ?? start.prefix(0)
    }

    private static func framing(
        _ fields: [(name: String, value: String)],
        isVersion10: Bool
    ) throws(Rejection) -> BodyFraming {
        func values(_ name: String) -> [String] {
            fields.filter { isSame($0.name, name) }.map(\.value)
        }
        let lengths = values("Content-Length")
        let codings = values("Transfer-Encoding")
        guard lengths.isEmpty || codings.isEmpty else { throw Rejection("both a length and a transfer encoding") }
        guard lengths.count < 2 else { throw Rejection("more than one length") }
        if let length = lengths.first {
            // Only digits: the standard library would take a sign, too.
            guard !length.isEmpty, length.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int64(length)
            else { throw Rejection("bad length") }
            return .length(count)
        }
        guard !codings.isEmpty else { return .length(0) }
        guard !isVersion10 else { throw Rejection("a transfer encoding in HTTP/1.0") }
        guard codings.count == 1, codings[0].lowercased() == "chunked" else {
            throw Rejection("unknown transfer encoding", status: 501)
        }
        return .chunked
    }
}

func latin1(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
    // Nearly always ASCII, which is UTF-8 as well; the other way takes many times as long.
    if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes, as: UTF8.self) }
    return String(bytes: bytes, encoding: .isoLatin1) ?? ""
}

/// Whether two names or tokens are the same, ASCII letters in any case. What Foundation has for that knows every script,
/// and is the larger part of serving a small request.
func isSame(_ one: String, _ other: String) -> Bool {
    one.utf8.count == other.utf8.count && zip(one.utf8, other.utf8).allSatisfy { lowercase($0) == lowercase($1) }
}

private func lowercase(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
}

func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
    case 0x21, 0x23...0x27, 0x2a, 0x2b, 0x2d, 0x2e, 0x5e...0x60, 0x7c, 0x7e: true
    default: false
    }
}

private func isToken(_ bytes: Slice<UnsafeRawBufferPointer>) -> Bool {
    !bytes.isEmpty && bytes.allSatisfy(isTokenByte)
}
