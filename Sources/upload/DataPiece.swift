import Foundation

/// One of the texts that `-d` and its relatives put together to a body.
struct DataPiece: Equatable, Sendable {
    enum Treatment: Equatable, Sendable {
        case asItIs
        /// Without CR, LF and NUL.
        case withoutLineBreaks
        case encoded
    }

    var origin: Origin
    var treatment: Treatment = .asItIs
    /// What comes before it, as it is: a name and `=`.
    var prefix = ""

    init(origin: Origin, treatment: Treatment = .asItIs, prefix: String = "") {
        self.origin = origin
        self.treatment = treatment
        self.prefix = prefix
    }

    /// - Parameter flag: one of those that this type is about.
    init(_ flag: Flag, _ value: String) throws(UsageError) {
        if flag == .dataURLEncode {
            self = try Self.encoded(value)
        } else if flag != .dataRaw, value.utf8.first == UInt8(ascii: "@") {
            guard value != "@" else { throw UsageError("\(flag.name) @ needs a path") }
            let path = String(decoding: value.utf8.dropFirst(), as: UTF8.self)
            self.init(origin: Origin(path: path), treatment: flag == .data ? .withoutLineBreaks : .asItIs)
        } else {
            self.init(origin: .text(value))
        }
    }

    /// The forms `content`, `=content`, `name=content`, `@file` and `name@file`: the first `=` counts, without one the
    /// first `@`.
    private static func encoded(_ value: String) throws(UsageError) -> DataPiece {
        let bytes = value.utf8
        let separator = bytes.firstIndex(of: UInt8(ascii: "=")) ?? bytes.firstIndex(of: UInt8(ascii: "@"))
        guard let separator else { return DataPiece(origin: .text(value), treatment: .encoded) }
        let name = value[..<separator]
        let content = String(value[bytes.index(after: separator)...])
        let prefix = name.isEmpty ? "" : "\(name)="
        if bytes[separator] == UInt8(ascii: "=") {
            return DataPiece(origin: .text(content), treatment: .encoded, prefix: prefix)
        }
        guard !content.isEmpty else { throw UsageError("--data-urlencode \(name)@ needs a path") }
        return DataPiece(origin: Origin(path: content), treatment: .encoded, prefix: prefix)
    }

    /// - Throws: what ``Origin/bytes()`` throws.
    func bytes() async throws -> Data {
        let content = try await origin.bytes()
        return switch treatment {
        case .asItIs: content
        case .withoutLineBreaks: content.filter { ![0, 10, 13].contains($0) }
        case .encoded: Data((prefix + PercentEncoding.formEncoded(content)).utf8)
        }
    }

    /// What the pieces come to together, with `&` between them.
    ///
    /// A file that goes alone and as it is stays out of memory, as does standard input where its length is known.
    ///
    /// - Throws: what ``Origin/bytes()`` throws.
    static func payload(_ pieces: [DataPiece]) async throws -> Payload {
        if pieces.count == 1, pieces[0].treatment == .asItIs {
            switch pieces[0].origin {
            case .file(let path): return .file(path)
            case .standardInput where StandardInput().length != nil: return .standardInput
            case .text, .standardInput: break
            }
        }
        var body = Data()
        for (index, piece) in pieces.enumerated() {
            if index > 0 { body.append(UInt8(ascii: "&")) }
            body.append(try await piece.bytes())
        }
        return .bytes(body)
    }
}
