/// An option of the command line; the raw value is its long form.
enum Flag: String, CaseIterable {
    case request, header, user, bearer, form, data, json, output, include, progress, silent, verbose, help, version,
        parallel, demo
    case transport, cacert, cert, key, insecure, timeout, retry, resumable, state
    case partURLs = "part-urls"
    case retryAll = "retry-all"
    case formString = "form-string"
    case dataRaw = "data-raw"
    case dataBinary = "data-binary"
    case dataURLEncode = "data-urlencode"
    case limitRate = "limit-rate"
    case stallTimeout = "stall-timeout"
    case connectTimeout = "connect-timeout"
    case maxRedirects = "max-redirs"
    case noLocation = "no-location"

    var short: Character? {
        switch self {
        case .request: "X"
        case .header: "H"
        case .user: "u"
        case .form: "F"
        case .data: "d"
        case .output: "o"
        case .include: "i"
        case .silent: "s"
        case .verbose: "v"
        case .help: "h"
        case .version: "V"
        case .parallel: "P"
        case .bearer, .json, .progress, .demo, .maxRedirects, .noLocation, .transport, .cacert, .cert, .key, .insecure,
            .limitRate, .timeout, .stallTimeout, .connectTimeout, .formString, .dataRaw, .dataBinary, .dataURLEncode,
            .retry, .retryAll, .resumable, .state, .partURLs:
            nil
        }
    }

    var takesValue: Bool {
        switch self {
        case .include, .silent, .verbose, .help, .version, .demo, .noLocation, .insecure, .retryAll: false
        case .request, .header, .user, .bearer, .form, .formString, .data, .dataRaw, .dataBinary, .dataURLEncode, .json,
            .output, .progress, .parallel, .maxRedirects, .transport, .cacert, .cert, .key, .limitRate, .timeout,
            .stallTimeout, .connectTimeout, .retry, .resumable, .state, .partURLs:
            true
        }
    }

    /// Both forms, for messages.
    var names: String { (short.map { "-\($0), " } ?? "") + "--\(rawValue)" }

    /// The short form if there is one.
    var name: String { short.map { "-\($0)" } ?? "--\(rawValue)" }
}

/// Takes a command line apart the way getopt does: `-XPUT`, `-X PUT`, `--request=PUT`, `--request PUT`, `-sv`, options
/// and operands in any order, and only operands after `--`.
struct ArgumentScanner {
    enum Item: Equatable {
        case flag(Flag, value: String)
        case operand(String)
    }

    private var rest: ArraySlice<String>
    /// What is left of a group of short flags. No characters: a value may begin with a combining mark.
    private var group: Substring.UnicodeScalarView = Substring().unicodeScalars
    private var onlyOperands = false

    init(_ arguments: [String]) {
        rest = arguments[...]
    }

    /// The next item; `nil` at the end.
    mutating func next() throws(UsageError) -> Item? {
        if let letter = group.popFirst() { return try short(Character(letter)) }
        guard let argument = rest.popFirst() else { return nil }
        guard !onlyOperands, argument.hasPrefix("-"), argument != "-" else { return .operand(argument) }
        if argument == "--" {
            onlyOperands = true
            return try next()
        }
        if argument.hasPrefix("--") { return try long(argument.dropFirst(2)) }
        group = argument.unicodeScalars.dropFirst()
        return try next()
    }

    private mutating func long(_ argument: Substring) throws(UsageError) -> Item {
        let equals = argument.utf8.firstIndex(of: UInt8(ascii: "="))
        let name = argument[..<(equals ?? argument.endIndex)]
        let attached = equals.map { String(argument[argument.utf8.index(after: $0)...]) }
        guard let flag = Flag(rawValue: String(name)) else { throw UsageError("unknown option --\(name)") }
        guard flag.takesValue else {
            guard attached == nil else { throw UsageError("--\(flag.rawValue) takes no value") }
            return .flag(flag, value: "")
        }
        if let attached { return .flag(flag, value: attached) }
        return .flag(flag, value: try value(of: flag))
    }

    private mutating func short(_ letter: Character) throws(UsageError) -> Item {
        guard let flag = Flag.allCases.first(where: { $0.short == letter }) else {
            throw UsageError("unknown option -\(letter)")
        }
        guard flag.takesValue else { return .flag(flag, value: "") }
        defer { group = Substring().unicodeScalars }
        return .flag(flag, value: group.isEmpty ? try value(of: flag) : String(group))
    }

    private mutating func value(of flag: Flag) throws(UsageError) -> String {
        guard let value = rest.popFirst() else { throw UsageError("\(flag.names) needs a value") }
        return value
    }
}
