import Foundation

/// The fields of the draft as its versions write them.
///
/// Version 3 says whether there is more to come, later ones whether there is not. From 6 on what is appended has a media type of
/// its own, and the length is told.
struct ResumableDraftFields: Sendable {
    /// The number in `Upload-Draft-Interop-Version`.
    let version: Int

    func versioned(_ request: URLRequest) -> URLRequest {
        var request = request
        request.setValue(String(version), forHTTPHeaderField: "Upload-Draft-Interop-Version")
        return request
    }

    func setComplete(_ isComplete: Bool, in request: inout URLRequest) {
        if version <= 3 {
            request.setValue(isComplete ? "?0" : "?1", forHTTPHeaderField: "Upload-Incomplete")
        } else {
            request.setValue(isComplete ? "?1" : "?0", forHTTPHeaderField: "Upload-Complete")
        }
    }

    func setLength(_ length: Int64?, in request: inout URLRequest) {
        guard version >= 6, let length else { return }
        request.setValue(String(length), forHTTPHeaderField: "Upload-Length")
    }

    func setAppending(at offset: Int64, in request: inout URLRequest) {
        request.setValue(String(offset), forHTTPHeaderField: "Upload-Offset")
        if version >= 6 { request.setValue("application/partial-upload", forHTTPHeaderField: "Content-Type") }
    }

    /// Whether the upload is complete; `nil` when the response does not say. Some servers of later versions say it as version 3 did.
    func complete(in head: ResponseHead) -> Bool? {
        StructuredField.boolean(head.headers["Upload-Complete"])
            ?? StructuredField.boolean(head.headers["Upload-Incomplete"]).map { !$0 }
    }

    func isSameVersion(_ head: ResponseHead) -> Bool {
        StructuredField.integer(head.headers["Upload-Draft-Interop-Version"]) == Int64(version)
    }
}

/// What a server allows for (`Upload-Limit`).
struct ResumableDraftLimits: Sendable {
    private var values: [String: Int64] = [:]
    private static let memoryLimit: Int64 = 64 << 20
    private static let names: Set<String> = ["max-size", "min-size", "max-append-size", "min-append-size"]

    /// What is said later goes before what was said earlier.
    mutating func take(_ head: ResponseHead) {
        guard let members = StructuredField.integers(named: Self.names, in: head.headers["Upload-Limit"]) else {
            return
        }
        values.merge(members) { $1 }
    }

    /// Why a body of that length is not allowed; `nil` if it is.
    func refusal(of length: Int64) -> String? {
        if let maximum = values["max-size"], length > maximum { return "\(length) bytes, at most \(maximum) are taken" }
        if let minimum = values["min-size"], length < minimum {
            return "\(length) bytes, at least \(minimum) are taken"
        }
        return nil
    }

    /// - Parameters:
    ///   - wanted: `nil` for as large as possible.
    ///   - isInMemory: whether a part is kept there, and must not be as large as a server likes.
    /// - Throws: ``UploadError/Code-swift.struct/bodySizeNotAllowed``.
    func partSize(wanted: Int64?, isInMemory: Bool) throws -> Int64? {
        if isInMemory, let minimum = values["min-append-size"], minimum > max(wanted ?? 0, Self.memoryLimit) {
            throw UploadError(.bodySizeNotAllowed, detail: "parts of at least \(minimum) bytes are wanted")
        }
        var size = wanted
        if let minimum = values["min-append-size"], let wanted { size = max(wanted, minimum) }
        if let maximum = values["max-append-size"], maximum > 0 { size = min(size ?? maximum, maximum) }
        return size
    }

    /// Whether parts of that size are too large.
    func isSmaller(than part: Range<Int64>) -> Bool {
        guard let maximum = values["max-append-size"], maximum > 0 else { return false }
        return part.upperBound - part.lowerBound > maximum
    }
}
