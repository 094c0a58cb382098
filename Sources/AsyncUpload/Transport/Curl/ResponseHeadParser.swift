import Foundation

/// Puts the lines of response heads together, as libcurl hands them out one by one (RFC 9112 §2.1).
///
/// Pure. A head counts when its empty line has come, and not before: a connection that ends inside a head has given no
/// answer. Lines that belong to no head are trailers and are left out.
struct ResponseHeadParser {
    private struct Head {
        let version: String
        let statusCode: Int
        var fields: [(name: String, value: String)] = []
    }

    private let url: URL
    private var head: Head?
    private var size = 0

    /// What newer versions of libcurl take in of a head at most.
    private static let sizeLimit = 300 << 10

    /// Whether the head is larger than any that is meant well.
    var isTooLarge: Bool { size > Self.sizeLimit }

    init(url: URL) {
        self.url = url
    }

    /// Takes in the next line, with its end.
    ///
    /// - Returns: a head, if the line was the last one of it.
    mutating func parse(_ line: UnsafeRawBufferPointer) -> HTTPURLResponse? {
        size += line.count
        guard !isTooLarge else { return nil }
        // What the connection ended in the middle of is handed out, too.
        guard line.last == UInt8(ascii: "\n") else { return nil }
        var end = line.count
        while end > 0, line[end - 1] == UInt8(ascii: "\r") || line[end - 1] == UInt8(ascii: "\n") { end -= 1 }
        if end == 0 { return finishHead() }
        let bytes = UnsafeRawBufferPointer(rebasing: line[..<end])
        if bytes.starts(with: "HTTP/".utf8), let start = Self.statusLine(Self.text(bytes)) {
            head = start
            size = line.count
        } else {
            addField(bytes)
        }
        return nil
    }

    /// UTF-8 if it is that, and Latin-1 otherwise.
    private static func text(_ bytes: some Collection<UInt8>) -> String {
        String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map(Unicode.Scalar.init)))
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }

    private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        var bytes = bytes.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return text(bytes)
    }

    private static func statusLine(_ text: String) -> Head? {
        let parts = text.split(separator: " ", maxSplits: 2)
        guard parts.count >= 2, let code = Int(parts[1]) else { return nil }
        return Head(version: String(parts[0]), statusCode: code)
    }

    private mutating func addField(_ line: UnsafeRawBufferPointer) {
        guard head != nil, let first = line.first else { return }
        // A line that begins with white space goes on with the field before it (RFC 9112 §5.2).
        if Self.isBlank(first), let last = head?.fields.indices.last {
            head?.fields[last].value += " " + Self.trimmed(line[...])
            return
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return }
        head?.fields.append((Self.text(line[..<colon]), Self.trimmed(line[(colon + 1)...])))
    }

    private mutating func finishHead() -> HTTPURLResponse? {
        guard let head = self.head.take() else { return nil }
        var fields: [String: String] = [:]
        var names: [String: String] = [:]
        for (name, value) in head.fields {
            let name = names[name.lowercased(), default: name]
            names[name.lowercased()] = name
            if fields[name] == nil { fields[name] = value } else { fields[name, default: ""] += ", \(value)" }
        }
        return HTTPURLResponse(
            url: url,
            statusCode: head.statusCode,
            httpVersion: head.version,
            headerFields: fields
        )
    }
}
