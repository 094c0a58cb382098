import Foundation
import Testing

@testable import AsyncUpload

/// What tests of S3 uploads have in common.
enum S3 {
    static let mib: Int64 = 1 << 20
    static let object = "https://s3.test/object?signature=1"
    static let done = "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>"

    static func error(_ code: String) -> String { "<Error><Code>\(code)</Code></Error>" }

    /// Signs with the number of its call, so that a request that was asked for again can be told from the first one.
    static func options(_ change: (inout S3MultipartOptions) -> Void = { _ in }) -> S3MultipartOptions {
        let calls = Locked(0)
        let sign: @Sendable (String, String) -> URLRequest = { what, name in
            let call = calls.withLock { count in
                count += 1
                return count
            }
            return URLRequest(url: url("https://s3.test/\(what)?upload=\(name)&call=\(call)"))
        }
        var options = S3MultipartOptions(
            create: { "u" },
            part: { sign("part\($1)", $0) },
            complete: { sign("complete", $0) },
            abort: { sign("abort", $0) }
        )
        change(&options)
        return options
    }

    static func listing(_ options: inout S3MultipartOptions) {
        options.list = { URLRequest(url: url("https://s3.test/list?upload=\($0)")) }
    }

    static func bench(
        _ length: Int64?,
        contentType: String? = nil,
        state: ResumptionState? = nil,
        _ change: (inout S3MultipartOptions) -> Void = { _ in }
    ) -> Bench<S3MultipartMachine> {
        let machine = S3MultipartMachine(
            request: request(object),
            length: length,
            contentType: contentType,
            options: options(change),
            state: state
        )
        return Bench(machine)
    }

    /// One that has begun a multipart upload.
    static func begun(
        _ length: Int64?,
        _ change: (inout S3MultipartOptions) -> Void = { _ in }
    ) throws -> Bench<S3MultipartMachine> {
        let bench = bench(length, change)
        try bench.reply("u")
        return bench
    }

    static func state(_ parts: [Int: String], partSize: Int64? = 8 << 20) -> ResumptionState {
        ResumptionState(location: "u", partSize: partSize, parts: parts.mapValues { .init(entityTag: $0) })
    }

    static func list(_ parts: [(Int, Int64)], isTruncated: Bool = false) -> String {
        let texts = parts.map { number, size in
            "<Part><PartNumber>\(number)</PartNumber><ETag>&quot;l\(number)&quot;</ETag><Size>\(size)</Size></Part>"
        }
        return "<ListPartsResult><IsTruncated>\(isTruncated)</IsTruncated>\(texts.joined())</ListPartsResult>"
    }
}

extension Bench<S3MultipartMachine> {
    /// Sends the next part, which the server stores.
    @discardableResult
    func store(_ tag: String = "\"t\"") async throws -> Sent {
        let sent = try await request()
        #expect(answer(sent, 200, ["ETag": tag]).isProceed)
        return sent
    }

    var tags: [Int: String]? { machine.state?.parts.compactMapValues(\.entityTag) }
}
