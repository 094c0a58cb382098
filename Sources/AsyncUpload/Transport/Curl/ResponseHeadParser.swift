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

    init(url: URL) {
        self.url = url
    }

    /// Takes in the next line, with its end.
    ///
    /// - Returns: a head, if the line was the last one of it.
    mutating func parse(_ line: UnsafeRawBufferPointer) -> HTTPURLResponse? {
        // What the connection ended in the middle of is handed out, too.
        guard line.last == UInt8(ascii: "\n") else { return nil }
        var text =
            String(validating: line, as: UTF8.self) ?? String(String.UnicodeScalarView(line.map(Unicode.Scalar.init)))
        while let last = text.unicodeScalars.last, last == "\r" || last == "\n" { text.unicodeScalars.removeLast() }
        if text.hasPrefix("HTTP/"), let start = Self.statusLine(text) {
            head = start
            return nil
        }
        if text.isEmpty { return finishHead() }
        addField(text)
        return nil
    }

    private static func statusLine(_ text: String) -> Head? {
        let parts = text.split(separator: " ", maxSplits: 2)
        guard parts.count >= 2, let code = Int(parts[1]) else { return nil }
        return Head(version: String(parts[0]), statusCode: code)
    }

    private mutating func addField(_ text: String) {
        guard head != nil else { return }
        // A line that begins with white space goes on with the field before it (RFC 9112 §5.2).
        if text.first?.isWhitespace == true, let last = head?.fields.indices.last {
            head?.fields[last].value += " " + text.trimmingCharacters(in: .whitespaces)
            return
        }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else { return }
        head?.fields.append((String(parts[0]), parts[1].trimmingCharacters(in: .whitespaces)))
    }

    private mutating func finishHead() -> HTTPURLResponse? {
        guard let head = self.head.take() else { return nil }
        var fields: [String: String] = [:]
        var names: [String: String] = [:]
        for (name, value) in head.fields {
            let name = names[name.lowercased(), default: name]
            names[name.lowercased()] = name
            fields[name] = fields[name].map { "\($0), \(value)" } ?? value
        }
        return HTTPURLResponse(
            url: url,
            statusCode: head.statusCode,
            httpVersion: head.version,
            headerFields: fields
        )
    }
}
