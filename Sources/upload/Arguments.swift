import Foundation

/// Reads the command line. Pure: touches no file and no stream.
struct Arguments {
    private var options = Options()
    private var method: String?
    private var body = BodyFlags()
    private var isDemo = false
    private var refusesRedirects = false
    /// What was given that means nothing to a demonstration.
    private var given: Set<Flag> = []
    private var operands: [String] = []

    /// - Parameter arguments: without the program's name.
    static func parse(_ arguments: [String]) -> Result<Command, UsageError> {
        guard !arguments.isEmpty else { return .success(.demo(file: nil, Options())) }
        do {
            var parsed = Arguments()
            var scanner = ArgumentScanner(arguments)
            while let item = try scanner.next() {
                switch item {
                case .flag(.help, _): return .success(.help)
                case .flag(.version, _): return .success(.version)
                case .flag(let flag, let value): try parsed.take(flag, value)
                case .operand(let operand): parsed.operands.append(operand)
                }
            }
            return .success(try parsed.command())
        } catch {
            return .failure(error)
        }
    }

    private mutating func take(_ flag: Flag, _ value: String) throws(UsageError) {
        given.insert(flag)
        switch flag {
        case .request: method = try ArgumentValue.method(value)
        case .header: options.headers.append(try ArgumentValue.header(value))
        case .user: try authorize(ArgumentValue.user(value))
        case .bearer: try authorize(ArgumentValue.bearer(value))
        case .form, .formString, .data, .dataRaw, .dataBinary, .dataURLEncode, .json: try body.take(flag, value)
        case .output:
            guard !value.isEmpty else { throw UsageError("-o needs the name of a file") }
            options.output = value
        case .include: options.includesHead = true
        case .progress:
            guard let progress = Options.Progress(rawValue: value) else {
                throw UsageError("--progress is bar, json or none, not \(value.debugDescription)")
            }
            options.progress = progress
        case .silent: options.isSilent = true
        case .verbose: options.isVerbose = true
        case .maxRedirects: options.redirectLimit = try ArgumentValue.redirectLimit(value)
        case .noLocation: refusesRedirects = true
        case .parallel: options.parallel = try ArgumentValue.parallel(value)
        case .transport: options.transport = try ArgumentValue.transport(value)
        case .cacert: options.authorities = try ArgumentValue.path(value, of: flag)
        case .cert: options.certificate = try ArgumentValue.path(value, of: flag)
        case .key: options.privateKey = try ArgumentValue.path(value, of: flag)
        case .insecure: options.trustsAnyServer = true
        case .limitRate: options.limitRate = try ArgumentValue.rate(value)
        case .timeout: options.timeout = try ArgumentValue.seconds(value, of: flag)
        case .stallTimeout: options.stallTimeout = try ArgumentValue.seconds(value, of: flag)
        case .connectTimeout: options.connectTimeout = try ArgumentValue.seconds(value, of: flag)
        case .retry: options.retryLimit = try ArgumentValue.retryLimit(value)
        case .retryAll: options.retriesAllMethods = true
        case .resumable: options.resumable = try ArgumentValue.resumable(value)
        case .state:
            guard !value.isEmpty else { throw UsageError("--state needs the name of a folder") }
            options.state = value
        case .partURLs: options.partURLs = try ArgumentValue.partURLs(value)
        case .demo: isDemo = true
        case .help, .version: break
        }
    }

    private mutating func authorize(_ authorization: Options.Authorization) throws(UsageError) {
        guard !given.isSuperset(of: [.user, .bearer]) else {
            throw UsageError("-u and --bearer do not go together")
        }
        options.authorization = authorization
    }

    private mutating func command() throws(UsageError) -> Command {
        if options.isVerbose, options.progress == .json {
            throw UsageError("-v and --progress json do not go together: both write to standard error")
        }
        if options.privateKey != nil, options.certificate == nil { throw UsageError("--key needs --cert") }
        if operands.contains("") { throw UsageError("an empty file name or URL") }
        if isDemo { return try demo() }
        if refusesRedirects { options.redirectLimit = nil }
        options.contentType = body.contentType
        try checkResumption()
        options.method = options.resumable?.method ?? method ?? (body.first == nil ? "PUT" : "POST")
        let destination = try destination()
        if options.authorization == nil { options.authorization = destination.authorization }
        return .send(try sources(for: destination), options)
    }

    private func checkResumption() throws(UsageError) {
        guard let resumable = options.resumable else {
            if options.state != nil { throw UsageError("--state needs --resumable") }
            if options.partURLs != nil { throw UsageError("--part-urls needs --resumable s3") }
            return
        }
        let isS3 = resumable == .s3
        if options.partURLs != nil, !isS3 { throw UsageError("--part-urls means nothing to \(resumable.rawValue)") }
        if options.partURLs == nil, isS3 { throw UsageError("--resumable s3 needs --part-urls") }
        if method != nil, resumable.method != nil {
            throw UsageError("-X means nothing to --resumable \(resumable.rawValue), which has methods of its own")
        }
    }

    private func demo() throws(UsageError) -> Command {
        let allowed: Set<Flag> = [.demo, .progress, .silent, .verbose, .transport, .limitRate]
        if let other = given.subtracting(allowed).min(by: { $0.rawValue < $1.rawValue }) {
            throw UsageError("\(other.names) means nothing to --demo")
        }
        guard operands.count < 2 else { throw UsageError("--demo takes one FILE and no URL") }
        if let file = operands.first, Destination.looksLikeURL(file) {
            throw UsageError("--demo takes a FILE and no URL")
        }
        if operands == ["-"] { throw UsageError("--demo takes a FILE, not standard input") }
        return .demo(file: operands.first, options)
    }

    private static let nothingGiven = "no FILE and no URL (upload --demo shows how it works)"

    /// The last operand.
    private func destination() throws(UsageError) -> Destination {
        guard let last = operands.last else {
            throw UsageError(body.first.map { "\($0.name) needs a URL" } ?? Self.nothingGiven)
        }
        if let flag = body.first {
            guard operands.count == 1 else { throw UsageError("\(flag.name) takes a URL and no FILE") }
        } else if operands.count == 1 {
            throw Destination.looksLikeURL(last)
                ? UsageError("no FILE to send to \(SafeText.withoutPassword(last))")
                : UsageError("no URL to send \(last) to")
        }
        if !Destination.looksLikeURL(last), operands.dropLast().contains(where: Destination.looksLikeURL) {
            throw UsageError("the URL comes last, after the files")
        }
        return try Destination(last)
    }

    private func sources(for destination: Destination) throws(UsageError) -> [Source] {
        if let content = body.content {
            return [Source(content: content, url: try destination.urlWithoutName(options.resumable))]
        }
        let files = operands.dropLast()
        if files.contains("-") {
            guard files.count == 1 else { throw UsageError("- for standard input goes alone, without other files") }
            return [Source(content: .standardInput, url: try destination.urlForStandardInput(options.resumable))]
        }
        if files.count > 1 { try destination.checkForSeveral(options.resumable) }
        var sources: [Source] = []
        var takers: [String: String] = [:]
        let isShared = options.resumable == .tus
        for file in files {
            let url = try destination.url(forFile: file, options.resumable)
            if let other = takers.updateValue(file, forKey: isShared ? file : url.absoluteString) {
                if isShared { throw UsageError("\(file) is named twice") }
                throw UsageError("\(other) and \(file) would both be sent to \(url.absoluteString)")
            }
            sources.append(Source(content: .file(file), url: url))
        }
        return sources
    }
}
