import AsyncUpload
import Foundation
import Synchronization
import Testing

/// <https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html#query-string-auth-v4-signing-example>
@Test("URLs are signed as in Amazon's example")
func signing() throws {
    let signer = S3Signer(
        keyIdentifier: "AKIAIOSFODNN7EXAMPLE",
        secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        date: Date(timeIntervalSince1970: 1_369_353_600),
        lifetime: 86_400
    )
    let url = try #require(URL(string: "https://examplebucket.s3.amazonaws.com/test.txt"))
    let expected = """
        https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256\
        &X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z\
        &X-Amz-Expires=86400&X-Amz-SignedHeaders=host\
        &X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404
        """
    let presigned = try signer.presigned("GET", url).absoluteString
    #expect(presigned == expected)
}

extension Resuming {
    /// A server that looks at signatures. Other tests with it are among those with all servers, and left out with these.
    @Suite(.enabled(if: SeaweedFS.isInstalled, "weed of SeaweedFS is not installed")) struct Signatures {
        let bench: Bench

        init() async throws {
            bench = try await Bench()
        }

        private func options(
            _ object: S3Object,
            part: @escaping @Sendable (String, Int) async throws -> URLRequest
        ) -> ResumableProtocol {
            var s3 = S3MultipartOptions(
                create: { try await object.server.createMultipartUpload(object.name) },
                part: part,
                complete: { try object.request("POST", "uploadId=\($0)") }
            )
            (s3.partSize, s3.singleRequestLimit) = (5 << 20, 0)
            return .s3Multipart(s3)
        }

        @Test("Another URL is asked for where one has expired")
        func expired() async throws {
            let target = try bench.target(.seaweedS3)
            let object = target.object
            let asked = Mutex<[Int]>([])
            let resuming = options(object) { identifier, number in
                let isFirst = asked.withLock { asked in
                    defer { asked.append(number) }
                    return !asked.contains(number)
                }
                let signer = S3Signer(date: isFirst ? Date(timeIntervalSinceNow: -86_400) : Date())
                return try object.request("PUT", "partNumber=\(number)&uploadId=\(identifier)", signer)
            }
            let bytes = try randomBytes(16_000_001)
            let uploader = bench.uploader
            let response = try await uploader.response(for: target.request, from: .data(bytes), resuming: resuming)
            #expect(try await target.stored(response) == bytes)
            #expect(asked.withLock { $0.sorted() } == [1, 1, 2, 2, 3, 3, 4, 4])
        }

        @Test("A wrong signature is refused")
        func wrong() async throws {
            let target = try bench.target(.seaweedS3)
            let object = target.object
            let resuming = options(object) { identifier, number in
                try object.request("PUT", "partNumber=\(number)&uploadId=\(identifier)", S3Signer(secretKey: "other"))
            }
            let error = await #expect(throws: UploadError.self) {
                try await bench.uploader.response(
                    for: target.request,
                    from: .data(randomBytes(16_000_001)),
                    resuming: resuming
                )
            }
            #expect(error?.code == .unacceptableStatus)
            #expect(error?.response?.statusCode == 403)
        }
    }
}
