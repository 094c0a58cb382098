import Foundation

/// What differs between the interop versions of the IETF draft.
struct DraftDialect: Sendable {
    static let newest = 8
    static let field = "Upload-Draft-Interop-Version"

    let version: Int
    /// Whether the client has said that it speaks this version; it gets no 104 otherwise.
    let isAgreed: Bool

    var hasLengthAndLimits: Bool { version >= 6 }
    /// Whether a PATCH needs the type `application/partial-upload`.
    var hasPartialType: Bool { version >= 6 }
    /// Whether a 2xx tells the offset.
    var repliesWithOffset: Bool { version <= 6 }
    var ageKey: String { version >= 7 ? "max-age" : "expires" }

    /// Whether the request says that the upload is complete with it; nil if it says nothing, or in a wrong way.
    func completeness(_ request: ReceivedRequest) -> Bool? {
        if version == 3 { return structuredBoolean(request.headers("Upload-Incomplete")).map { !$0 } }
        return structuredBoolean(request.headers("Upload-Complete"))
    }

    func completeness(_ isComplete: Bool) -> (String, String) {
        version == 3
            ? ("Upload-Incomplete", isComplete ? "?0" : "?1") : ("Upload-Complete", isComplete ? "?1" : "?0")
    }

    func length(_ request: ReceivedRequest) -> Int64? {
        hasLengthAndLimits ? structuredInteger(request.headers("Upload-Length")) : nil
    }

    /// A refusal with a problem type, where the version has those.
    func problem(_ status: Int, _ type: String, _ members: String = "", headers: [(String, String)] = []) -> Reply {
        guard hasLengthAndLimits else { return .refusal(status, type, headers) }
        let uri = "https://iana.org/assignments/http-problem-types#\(type)"
        return Reply(
            status,
            headers + [("Content-Type", "application/problem+json")],
            body: "{\"type\":\"\(uri)\",\"title\":\"\(type)\"\(members)}"
        )
    }
}

/// The value of a structured field that is a Boolean, with or without parameters; nil if it is not there once, or wrong.
func structuredBoolean(_ values: [String]) -> Bool? {
    switch bareItem(values) {
    case "?1": true
    case "?0": false
    default: nil
    }
}

/// The value of a structured field that is an Integer of at least 0; nil if it is not there once, or wrong.
func structuredInteger(_ values: [String]) -> Int64? {
    bareItem(values).flatMap { $0.utf8.count <= 15 ? decimal($0) : nil }
}

private func bareItem(_ values: [String]) -> Substring? {
    guard values.count == 1 else { return nil }
    let parts = values[0].split(separator: ";", omittingEmptySubsequences: false)
    let areParameters = parts.dropFirst().allSatisfy { $0.drop { $0 == " " }.first?.isLowercase == true }
    return areParameters ? parts[0] : nil
}
