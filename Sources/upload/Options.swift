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
    }

    var content: Content
    var url: URL

    /// What it is called in messages: the path as it was typed.
    var label: String {
        switch content {
        case .file(let path): path
        case .bytes: "--json"
        case .standardInput: "-"
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
    var sendsJSON = false
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
    var output: String?
    var includesHead = false
    /// `nil`: not said, so the bar on a terminal only.
    var progress: Progress?
    var isSilent = false
    var isVerbose = false
}
