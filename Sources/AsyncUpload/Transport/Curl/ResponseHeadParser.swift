import Foundation

/// Puts the lines of response heads together, as libcurl hands them out one by one (RFC 9112 §2.1).
///
/// Pure. A head counts when its empty line has come, and not before: a connection that ends inside a head has given no
/// answer. Lines that belong to no head are trailers and are left out.
struct ResponseHeadParser {
    private let url: URL?
    private var head: ResponseHead?
    private var size = 0

    /// What newer versions of libcurl take in of a head at most.
    private static let sizeLimit = 300 << 10

    /// Whether the head is larger than any that is meant well.
    var isTooLarge: Bool { size > Self.sizeLimit }

    init(url: URL?) {
        self.url = url
    }

    /// Takes in the next line, with its end.
    ///
    /// - Returns: a head, if the line was the last one of it.
    mutating func parse(_ line: UnsafeRawBufferPointer) -> ResponseHead? {
        size += line.count
        guard !isTooLarge else { return nil }
        // What the connection ended in the middle of is handed out, too.
        guard line.last == UInt8(ascii: "\n") else { return nil }
        var end = line.count
        while end > 0, line[end - 1] == UInt8(ascii: "\r") || line[end - 1] == UInt8(ascii: "\n") { end -= 1 }
        if end == 0 { return head.take() }
        let bytes = UnsafeRawBufferPointer(rebasing: line[..<end])
        if bytes.starts(with: "HTTP/".utf8), let code = Self.statusCode(bytes) {
            head = ResponseHead(url: url, statusCode: code)
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

    private static func statusCode(_ line: UnsafeRawBufferPointer) -> Int? {
        let code = line.drop { $0 != UInt8(ascii: " ") }.drop { $0 == UInt8(ascii: " ") }
        return Int(String(decoding: code.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self))
    }

    private mutating func addField(_ line: UnsafeRawBufferPointer) {
        guard head != nil, let first = line.first else { return }
        // A line that begins with white space goes on with the field before it (RFC 9112 §5.2).
        if Self.isBlank(first) {
            head?.headers.appendToLast(" " + Self.trimmed(line[...]))
            return
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return }
        head?.headers.append(Self.trimmed(line[(colon + 1)...]), for: Self.text(line[..<colon]))
    }
}
