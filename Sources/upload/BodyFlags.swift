import Foundation

/// The flags that make a body without a FILE, as the command line has them.
struct BodyFlags {
    /// Those of one kind go together.
    private enum Kind {
        case json, form, data
    }

    /// The first one that was given.
    private(set) var first: Flag?
    private var json: String?
    private var parts: [FormPart] = []
    private var pieces: [DataPiece] = []

    mutating func take(_ flag: Flag, _ value: String) throws(UsageError) {
        if let first, Self.kind(of: first) != Self.kind(of: flag) {
            throw UsageError("\(first.name) and \(flag.name) do not go together: a request has one body")
        }
        first = first ?? flag
        switch flag {
        case .form: parts += try FormArgument.parts(value)
        case .formString: parts.append(try FormPart.literal(value))
        case .json:
            guard json == nil else { throw UsageError("--json may be given once") }
            guard value != "@" else { throw UsageError("--json @ needs a path") }
            json = value
        default: pieces.append(try DataPiece(flag, value))
        }
        guard (parts.map(\.origin) + pieces.map(\.origin)).filter({ $0 == .standardInput }).count < 2 else {
            throw UsageError("standard input can be read only once, and \(flag.name) wants it again")
        }
    }

    /// `nil` where no such flag was given.
    var content: Source.Content? {
        switch first.map(Self.kind) {
        case .form: .form(parts)
        case .data: .data(pieces)
        case .json: Self.content(ofJSON: json ?? "")
        case nil: nil
        }
    }

    /// What the request says about the body unless it says something itself.
    var contentType: String? {
        switch first.map(Self.kind) {
        case .json: Options.jsonType
        case .data: "application/x-www-form-urlencoded"
        // The form has its own, with the boundary.
        case .form, nil: nil
        }
    }

    private static func kind(of flag: Flag) -> Kind {
        switch flag {
        case .json: .json
        case .form, .formString: .form
        default: .data
        }
    }

    private static func content(ofJSON json: String) -> Source.Content {
        if json == "@-" { return .standardInput }
        guard json.utf8.first == UInt8(ascii: "@") else { return .bytes(Data(json.utf8)) }
        return .file(String(decoding: json.utf8.dropFirst(), as: UTF8.self))
    }
}
