import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

extension OverTheWire {
    @Suite("Google Cloud Storage's sessions") struct GCSOnTheWire {
        private let data = bytes(3_000_000)

        private func lane(_ script: @escaping UploadScript = { _ in nil }) throws -> ResumableLane {
            let lane = try ResumableLane()
            GCSServer(store: lane.store, script: script).install(on: lane.server)
            return lane
        }

        private func request(_ lane: ResumableLane) -> URLRequest {
            lane.lane.request("/upload/storage/v1/b/uploads/o?uploadType=resumable&name=f", method: "POST")
        }

        private func options(_ partSize: Int64?) -> GCSOptions {
            var options = GCSOptions()
            options.partSize = partSize
            return options
        }

        @Test("Every kind of body arrives, in one request and in chunks", arguments: BodyKind.allCases)
        func bodies(kind: BodyKind) async throws {
            for (size, partSize) in [
                (3_000_000, nil), (3_000_000, 1 << 20), (2 << 20, 1 << 20), (0, nil), (1, 1 << 20),
            ] {
                let lane = try lane()
                let data = bytes(size)
                let seen = await Observation(
                    lane.uploader.upload(
                        for: request(lane),
                        from: try kind.body(data, in: lane.scratch),
                        resuming: .gcs(options(partSize.map(Int64.init)))
                    )
                )
                #expect(seen.error == nil)
                lane.expectStored(data)
                if let partSize { #expect(lane.server.requests.allSatisfy { $0.bodyByteCount <= partSize }) }
            }
        }

        @Test("C69: the next chunk begins where the server says")
        func keptLess() async throws {
            let lane = try lane { $0.method == "PUT" && $0.numberOfMethod == 1 ? .keepOnly(262_144) : nil }
            _ = try await lane.uploader.response(
                for: request(lane),
                from: data,
                resuming: .gcs(options(1 << 20))
            )
            lane.expectStored(data)
            let ranges = lane.server.requests.compactMap { $0.header("Content-Range") }
            #expect(ranges.first == "bytes 0-1048575/3000000")
            #expect(ranges.dropFirst().first == "bytes 262144-1310719/3000000")
        }

        @Test("C70: a server that claims more than was sent is not believed")
        func tooMuch() async throws {
            let lane = try lane { $0.method == "PUT" ? .claimOffset(2_000_000) : nil }
            let seen = await Observation(
                lane.uploader.upload(for: request(lane), from: data, resuming: .gcs(options(1 << 20)))
            )
            #expect(seen.code == .protocolViolation)
            #expect(lane.server.requests.count { $0.method == "PUT" } == 1)
        }

        @Test("C71: a session that is gone is followed by a new one")
        func gone() async throws {
            let lane = try lane { request in
                guard request.method == "PUT" else { return nil }
                return [1: .answer(503), 2: .answer(410)][request.numberOfMethod]
            }
            _ = try await lane.uploader.response(
                for: request(lane),
                from: data,
                resuming: .gcs(options(1 << 20))
            )
            #expect(lane.server.requests.count { $0.method == "POST" } == 2)
            let complete = lane.store.uploads.filter(\.isComplete)
            #expect(complete.map(\.data) == [data])
        }

        @Test(
            "A session that is broken off, or whose last answer is lost, goes on",
            .enabled(if: Carrier.underTest != .native, "see KnownIssue.nativeRepeatsPart")
        )
        func broken() async throws {
            let lane = try lane { request in
                guard request.method == "PUT" else { return nil }
                return request.numberOfMethod == 1
                    ? .resetAfter(1_000_000) : request.numberOfMethod == 3 ? .loseReply : nil
            }
            let seen = await Observation(lane.uploader.upload(for: request(lane), from: data, resuming: .gcs()))
            #expect(seen.error == nil, "\((seen.error as? UploadError)?.response?.text() ?? "")")
            lane.expectStored(data)
            guard ResumableLane.seesEachOnce else { return }
            #expect(lane.exchanges == ["POST 200", "PUT -", "PUT 308", "PUT -", "PUT 200"])
            #expect(lane.server.requests.reduce(0) { $0 + $1.bodyByteCount } == data.count)
        }

        @Test("A session that somebody else has started is used, and removed when that is asked for")
        func ownSession() async throws {
            let lane = try lane { $0.method == "PUT" && $0.numberOfMethod == 2 ? .stallAfter(1_000_000) : nil }
            let start = try await lane.uploader.send(request(lane))
            var options = GCSOptions()
            options.sessionURI = URL(string: start.headers["Location"] ?? "")
            let task = lane.uploader.task(for: request(lane), from: data, resuming: .gcs(options))
            try await eventually { (lane.store.uploads.first?.offset ?? 0) == 1_000_000 }
            task.cancel(removingRemote: true)
            await task.waitUntilReleased()
            #expect(lane.exchanges == ["POST 200", "PUT 308", "PUT -", "DELETE 499"])
        }
    }

    @Suite("Amazon S3's multipart uploads") struct S3OnTheWire {
        private let data = bytes(22_000_000)

        private func lane(
            completesSlowly: Bool = false,
            _ script: @escaping UploadScript = { _ in nil }
        ) throws -> ResumableLane {
            let lane = try ResumableLane()
            S3Server(store: lane.store, completesSlowly: completesSlowly, script: script).install(on: lane.server)
            return lane
        }

        private func expectObject(
            _ data: Data,
            _ lane: ResumableLane,
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            let objects = lane.store.uploads.filter {
                $0.name == "/bucket/key" && $0.isComplete && $0.data?.count == data.count
            }
            #expect(objects.contains { $0.data == data }, sourceLocation: sourceLocation)
        }

        private func parts(_ lane: ResumableLane) -> [String] {
            lane.server.requests.filter { $0.method == "PUT" }.compactMap { request in
                URLComponents(string: request.target)?.queryItems?.first { $0.name == "partNumber" }?.value
            }
        }

        @Test("Every kind of body arrives, small ones by one request", arguments: BodyKind.allCases)
        func bodies(kind: BodyKind) async throws {
            for size in [0, 1, 5 << 20, (5 << 20) + 1, 10 << 20, 22_000_000] {
                let lane = try lane()
                let data = bytes(size)
                let seen = await Observation(
                    lane.uploader.upload(
                        for: lane.s3Request,
                        from: try kind.body(data, in: lane.scratch),
                        resuming: .s3Multipart(lane.s3Options())
                    )
                )
                #expect(seen.error == nil, "\(size)")
                expectObject(data, lane)
                #expect(lane.server.requests.contains { $0.method == "POST" } == (size > 5 << 20))
            }
        }

        @Test("C72: only the parts that fail are sent again")
        func failedParts() async throws {
            let lane = try lane { request in
                guard request.method == "PUT" else { return nil }
                if request.target.contains("partNumber=3"), request.numberOfMethod <= 4 { return .answer(500) }
                return request.target.contains("partNumber=2") && request.numberOfMethod <= 3
                    ? .resetAfter(1_000_000) : nil
            }
            _ = try await lane.uploader.response(
                for: lane.s3Request,
                from: data,
                resuming: .s3Multipart(lane.s3Options())
            )
            expectObject(data, lane)
            let sent = parts(lane)
            #expect(sent.count { $0 == "1" } == 1 && sent.count { $0 == "4" } == 1 && sent.count { $0 == "5" } == 1)
            #expect(sent.count { $0 == "3" } >= 2 && sent.count { $0 == "2" } >= 2)
        }

        @Test(
            "C72: parts that are there are not sent again after a restart, listed or believed",
            .enabled(if: Carrier.underTest != .native, "see KnownIssue.nativeFileEndsEarly"),
            arguments: [false, true]
        )
        func reuse(lists: Bool) async throws {
            let lane = try lane { request in
                request.method == "PUT" && request.target.contains("partNumber=4") && request.numberOfMethod <= 4
                    ? .stallAfter(100) : nil
            }
            let file = try lane.scratch.file(data)
            var options = lane.s3Options(lists: lists)
            options.parallelParts = 1
            let task = lane.uploader.task(for: lane.s3Request, fromFile: file, resuming: .s3Multipart(options))
            try await eventually { parts(lane) == ["1", "2", "3", "4"] }
            task.cancel()
            await task.waitUntilReleased()
            let response = try await lane.uploader.response(
                for: lane.s3Request,
                fromFile: file,
                resuming: .s3Multipart(options)
            )
            #expect(parts(lane) == ["1", "2", "3", "4", "4", "5"])
            #expect(response.metrics.bytesSent == Int64(data.count - 3 * (5 << 20)))
            expectObject(data, lane)
        }

        @Test(
            "What is no list of parts ends the upload at once, and another goes on",
            .enabled(if: Carrier.underTest != .native, "see KnownIssue.nativeFileEndsEarly"),
            arguments: ["<html/>", "{}"]
        )
        func noList(body: String) async throws {
            let lane = try lane { request in
                switch request.method {
                case "PUT" where request.numberOfMethod == 2: .stallAfter(100)
                case "GET" where request.numberOfMethod == 1: .answer(200, body: body)
                default: nil
                }
            }
            let file = try lane.scratch.file(data)
            var options = lane.s3Options(lists: true)
            options.parallelParts = 1
            let task = lane.uploader.task(for: lane.s3Request, fromFile: file, resuming: .s3Multipart(options))
            try await eventually { parts(lane) == ["1", "2"] }
            task.cancel()
            await task.waitUntilReleased()
            let again = { lane.uploader.upload(for: lane.s3Request, fromFile: file, resuming: .s3Multipart(options)) }
            #expect(await Observation(again()).code == .protocolViolation)
            #expect(lane.server.requests.count { $0.method == "GET" } == 1)
            #expect(await Observation(again()).error == nil)
            #expect(parts(lane) == ["1", "2", "2", "3", "4", "5"])
            expectObject(data, lane)
        }

        @Test(
            "C73: an upload that fails for good is aborted once, and so is one that is cancelled and gone for everybody"
        )
        func abort() async throws {
            let failing = try lane { $0.target.contains("partNumber=2") ? .answer(400) : nil }
            let seen = await Observation(
                failing.uploader.upload(
                    for: failing.s3Request,
                    from: data,
                    resuming: .s3Multipart(failing.s3Options())
                )
            )
            #expect(seen.refusedStatus == 400)
            #expect(failing.server.requests.count { $0.method == "DELETE" } == 1)

            let cancelled = try lane { $0.target.contains("partNumber=2") ? .stallAfter(10) : nil }
            let task = cancelled.uploader.task(
                for: cancelled.s3Request,
                from: data,
                resuming: .s3Multipart(cancelled.s3Options())
            )
            try await eventually { parts(cancelled).contains("2") }
            task.cancel(removingRemote: true)
            await task.waitUntilReleased()
            #expect(cancelled.server.requests.count { $0.method == "DELETE" } == 1)
        }

        @Test("C35: a completion that fails after its 200 is no success, and is asked for again")
        func lateError() async throws {
            let lane = try lane(completesSlowly: true) { request in
                let isCompletion = request.method == "POST" && request.target.contains("uploadId")
                return isCompletion && request.numberOfMethod == 2 ? .lateError("InternalError") : nil
            }
            _ = try await lane.uploader.response(
                for: lane.s3Request,
                from: data,
                resuming: .s3Multipart(lane.s3Options())
            )
            expectObject(data, lane)
            #expect(lane.server.requests.count { $0.method == "POST" } == 3)
        }

        @Test("C35: a completion whose answer ends too early is no success either")
        func truncatedAnswer() async throws {
            let lane = try lane { $0.method == "POST" && $0.target.contains("uploadId") ? .shortBody(60) : nil }
            let seen = await Observation(
                lane.uploader.upload(for: lane.s3Request, from: data, resuming: .s3Multipart(lane.s3Options()))
            )
            // It was complete, and the identifier is gone with that: nobody but the app can look.
            #expect(seen.code == .uploadExpired)
        }

        @Test("A stream whose part fails waits for it", arguments: [false, true])
        func failedPartOfAStream(hasLength: Bool) async throws {
            let lane = try lane { $0.target.contains("partNumber=2") && $0.numberOfMethod <= 3 ? .answer(503) : nil }
            let body =
                hasLength ? UploadBody.stream(pieces(of: data), length: Int64(data.count)) : .stream(pieces(of: data))
            _ = try await lane.uploader.response(
                for: lane.s3Request,
                from: body,
                resuming: .s3Multipart(lane.s3Options())
            )
            expectObject(data, lane)
        }

        @Test("A signature that is refused by the app, in whatever way, ends the upload")
        func noSignature() async throws {
            let lane = try lane()
            var options = lane.s3Options()
            options.part = { _, _ in throw CancellationError() }
            let seen = await Observation(
                lane.uploader.upload(for: lane.s3Request, from: data, resuming: .s3Multipart(options))
            )
            #expect(seen.code == .interceptorFailed)
        }

        @Test("Tokens for the upload's own origin go to no other")
        func secrets() async throws {
            let lane = try lane()
            let elsewhere = try LoopbackServer()
            elsewhere.route(nil, "/*") { exchange in
                try exchange.readBody()
                try exchange.respond(200, headers: [("ETag", "\"e\"")])
            }
            let uploader = Uploader { $0.interceptors = [BearerTokenInterceptor { _ in "secret" }] }
            var options = lane.s3Options()
            options.create = { "u" }
            options.part = { _, number in
                var request = URLRequest(url: elsewhere.url("/\(number)"), method: "PUT")
                if number == 1 { request.setValue("Signed", forHTTPHeaderField: "Authorization") }
                return request
            }
            options.complete = { _ in throw UploadError(.invalidRequest) }
            let seen = await Observation(
                uploader.upload(for: lane.s3Request, from: data, resuming: .s3Multipart(options))
            )
            #expect(seen.code == .invalidRequest)
            #expect(elsewhere.requests.count == 5)
            for request in elsewhere.requests {
                #expect(request.header("Authorization")?.contains("secret") != true)
            }
        }

        @Test(
            "C22: parts of a large file are not made beforehand",
            // URLSession's own tasks want each part in a file.
            .enabled(if: Platform.usesFoundationNetworking && Carrier.underTest != .native)
        )
        func largeFile() async throws {
            let lane = try ResumableLane(.count)
            S3Server(store: lane.store).install(on: lane.server)
            let file = try lane.scratch.sparseFile(2 << 30)
            var options = lane.s3Options()
            options.partSize = 8 << 20
            try ProcessResources.resetPeak()
            let before = ProcessResources.current.residentSize
            _ = try await lane.uploader.response(
                for: lane.s3Request,
                fromFile: file,
                resuming: .s3Multipart(options)
            )
            let growth = ProcessResources.current.peakResidentSize - before
            #expect(growth < 32 << 20 || ProcessResources.isSanitized)
            #expect(parts(lane).count == 256)
        }
    }
}
