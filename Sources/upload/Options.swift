import AsyncUpload
import Foundation

/// What the command line asks for.
enum Command: Equatable, Sendable {
    case help
    case version
    /// Send a file, or a generated one, to the embedded server.
    case demo(file: String?, Options)
    /// Send these, one after the other or side by side.
    case send([Source], Options)
}

/// One body to send, and where to.
struct Source: Equatable, Sendable {
    enum Content: Equatable, Sendable {
        case file(String)
        case bytes(Data)
        case standardInput
        case form([FormPart])
        case data([DataPiece])
    }

    var content: Content
    var url: URL

    /// What it is called in messages: the path as it was typed.
    var label: String {
        switch content {
        case .file(let path): path
        case .bytes: "--json"
        case .standardInput: "-"
        case .form: Flag.form.name
        case .data(let pieces): pieces.count == 1 ? pieces[0].origin.path ?? Flag.data.name : Flag.data.name
        }
    }

    /// What the error is about: the file of a form that it names, or else the whole.
    func label(for error: UploadError) -> String {
        guard case .form = content, let detail = error.detail else { return label }
        return paths.filter { detail.hasPrefix(FilePath.url($0).path) }.max { $0.utf8.count < $1.utf8.count } ?? label
    }

    /// The files that are read.
    var paths: [String] {
        switch content {
        case .file(let path): [path]
        case .form(let parts): parts.compactMap(\.origin.path)
        case .data(let pieces): pieces.compactMap(\.origin.path)
        case .bytes, .standardInput: []
        }
    }

    var readsStandardInput: Bool {
        switch content {
        case .standardInput: true
        case .form(let parts): parts.contains { $0.origin == .standardInput }
        case .data(let pieces): pieces.contains { $0.origin == .standardInput }
        case .file, .bytes: false
        }
    }
}

/// How to do it.
struct Options: Equatable, Sendable {
    enum Progress: String, CaseIterable, Sendable {
        case bar, json, none
    }

    enum Transport: String, Sendable {
        case urlsession, curl
    }

    /// The protocol of an upload that goes on when it was interrupted.
    enum Resumable: String, Sendable {
        case tus, ietf, gcs, s3

        /// Where the protocol has a method of its own.
        var method: String? {
            switch self {
            case .tus, .gcs: "POST"
            case .s3: "PUT"
            case .ietf: nil
            }
        }
    }

    /// Where the URLs of an upload's parts come from.
    enum PartURLOrigin: Equatable, Sendable {
        case file(String)
        case command(String)
    }

    enum Authorization: Equatable, Sendable {
        case basic(user: String, password: String)
        case bearer(String)

        /// The value of the header field.
        var fieldValue: String {
            switch self {
            case .basic(let user, let password): "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
            case .bearer(let token): "Bearer \(token)"
            }
        }
    }

    /// A `-H`: a field to send, or without a value one to leave out.
    struct HeaderField: Equatable, Sendable {
        var name: String
        var value: String?
    }

    var method = "PUT"
    var headers: [HeaderField] = []
    var authorization: Authorization?
    /// Of the body, unless a header says something else.
    var contentType: String?
    /// `nil`: redirects are not followed.
    var redirectLimit: Int? = 20
    var parallel = 4
    /// `nil`: the platform's best.
    var transport: Transport?
    /// The paths of PEM files.
    var authorities: String?
    var certificate: String?
    var privateKey: String?
    var trustsAnyServer = false
    /// In bytes per second.
    var limitRate: Int64?
    /// In seconds; `nil`: as long as the library allows.
    var timeout: Double?
    var stallTimeout: Double?
    var connectTimeout: Double?
    /// How many attempts may follow the first one.
    var retryLimit = 3
    /// Those whose repetition a server may act on twice, too.
    var retriesAllMethods = false
    var resumable: Resumable?
    /// The path of the folder that checkpoints are kept in; `nil`: only for as long as the process lives.
    var state: String?
    /// With S3 only.
    var partURLs: PartURLOrigin?
    var output: String?
    var includesHead = false
    /// `nil`: not said, so the bar on a terminal only.
    var progress: Progress?
    var isSilent = false
    var isVerbose = false

    static let jsonType = "application/json"
    var sendsJSON: Bool { contentType == Self.jsonType }
}
