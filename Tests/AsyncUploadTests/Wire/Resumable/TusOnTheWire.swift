import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

extension OverTheWire {
    @Suite("tus") struct TusOnTheWire {
        private let data = bytes(3_000_000)

        @Test("Every kind of body arrives", arguments: BodyKind.allCases)
        func bodies(kind: BodyKind) async throws {
            let lane = try ResumableLane.tus()
            var options = TusOptions()
            options.partSize = kind.hasLength ? nil : 1 << 20
            let body = try kind.body(data, in: lane.scratch)
            let events = lane.uploader.upload(for: lane.tusRequest, from: body, resuming: .tus(options))
            let seen = await Observation(events)
            #expect(seen.error == nil)
            lane.expectStored(data)
        }

        @Test("Sizes around a part", arguments: [0, 1, 999_999, 1_000_000, 1_000_001, 2_000_000])
        func sizes(size: Int) async throws {
            for kind in BodyKind.allCases {
                let lane = try ResumableLane.tus()
                var options = TusOptions()
                options.partSize = 1_000_000
                let data = bytes(size)
                let body = try kind.body(data, in: lane.scratch)
                _ = try await lane.uploader.response(for: lane.tusRequest, from: body, resuming: .tus(options))
                lane.expectStored(data)
                let largest = lane.server.requests.map(\.bodyByteCount).max() ?? 0
                #expect(largest <= 1_000_000)
            }
        }

        @Test("With its length known, a body takes two requests, and one where the server takes it with the creation")
        func requests() async throws {
            let lane = try ResumableLane.tus()
            let file = try lane.scratch.file(data)
            let response = try await lane.uploader.response(for: lane.tusRequest, fromFile: file, resuming: .tus())
            #expect(lane.exchanges == ["POST 201", "PATCH 204"])
            #expect(response.metrics.bytesSent == Int64(data.count))

            let other = try ResumableLane.tus()
            var options = TusOptions()
            options.extensions = [.creation, .creationWithUpload]
            options.sendsBodyWithCreation = true
            _ = try await other.uploader.response(for: other.tusRequest, from: data, resuming: .tus(options))
            #expect(other.exchanges == ["POST 201"])
            other.expectStored(data)
        }

        @Test("Metadata arrive")
        func metadata() async throws {
            let lane = try ResumableLane.tus()
            var options = TusOptions()
            options.metadata = ["filename": "Ä b.mov", "empty": ""]
            _ = try await lane.uploader.response(for: lane.tusRequest, from: data, resuming: .tus(options))
            let name = Data("Ä b.mov".utf8).base64EncodedString()
            #expect(lane.server.requests.first?.header("Upload-Metadata") == "empty,filename \(name)")
        }

        @Test("What the body is arrives as metadata, unless the app says something else", arguments: [1, 3])
        func bodyType(parallelParts: Int) async throws {
            var form = MultipartForm()
            form.append("Ann", name: "author")
            form.append(.data(data), name: "film")
            let body = UploadBody.multipart(form)
            let type = try #require(body.contentType)
            for (body, field, own, expected) in [
                (body, nil, nil, type), (body, nil, "a/b", "a/b"), (body, "multipart/mixed", nil, "multipart/mixed"),
                (.data(data), "video/mp4", nil, "video/mp4"), (.data(data), " ", nil, nil),
                (.data(data), nil, nil, nil),
            ] as [(UploadBody, String?, String?, String?)] {
                let lane = try ResumableLane.tus()
                var options = TusOptions()
                options.parallelParts = parallelParts
                options.metadata["filetype"] = own
                var request = lane.tusRequest
                request.setValue(field, forHTTPHeaderField: "Content-Type")
                _ = try await lane.uploader.response(for: request, from: body, resuming: .tus(options))
                let sent = lane.server.requests.compactMap { $0.header("Upload-Metadata") }
                guard let expected else {
                    #expect(sent == [])
                    continue
                }
                let value = sent.first?.split(separator: " ").last.flatMap { Data(base64Encoded: String($0)) }
                let text = String(decoding: try #require(value), as: UTF8.self)
                #expect(sent.count == 1)
                #expect(sent.first?.hasPrefix("filetype ") == true)
                #expect(text.hasPrefix(expected))
                guard let boundary = text.components(separatedBy: "boundary=").dropFirst().first else { continue }
                let stored = lane.store.uploads.last { $0.isComplete && $0.field("Upload-Concat") != "partial" }
                #expect(stored?.data?.starts(with: Data("--\(boundary)\r\n".utf8)) == true)
            }
        }

        @Test("What breaks goes on where the server is", arguments: BodyKind.endingEarly)
        func interruption(kind: BodyKind) async throws {
            let lane = try ResumableLane.tus {
                $0.method == "PATCH" && $0.numberOfMethod <= 2 ? .resetAfter(700_000) : nil
            }
            let body = try kind.body(data, in: lane.scratch)
            let seen = await Observation(
                lane.uploader.upload(for: lane.tusRequest, from: body, resuming: .tus())
            )
            #expect(seen.error == nil)
            lane.expectStored(data)
            guard ResumableLane.seesEachOnce else { return }
            #expect(lane.exchanges == ["POST 201", "PATCH -", "HEAD 200", "PATCH -", "HEAD 200", "PATCH 204"])
            let offsets = lane.server.requests.filter { $0.method == "PATCH" }.map { $0.header("Upload-Offset") }
            #expect(offsets == ["0", "700000", "1400000"])
        }

        @Test("C66: an offset that the server does not have is asked for")
        func conflict() async throws {
            let lane = try ResumableLane.tus {
                $0.method == "PATCH" && $0.numberOfMethod == 1 ? .resetAfter(3_000) : nil
            }
            let conflicting = try ResumableLane.tus { request in
                guard request.method == "PATCH" else { return nil }
                return request.numberOfMethod == 1 ? [.keepOnly(3_000), .claimOffset(2_000)] : nil
            }
            for lane in [lane, conflicting] {
                _ = try await lane.uploader.response(for: lane.tusRequest, from: data, resuming: .tus())
                lane.expectStored(data)
            }
            #expect(conflicting.exchanges == ["POST 201", "PATCH 204", "PATCH 409", "HEAD 200", "PATCH 204"])
        }

        @Test("The last answer is lost: nothing is sent again")
        func lostReply() async throws {
            let lane = try ResumableLane.tus { $0.method == "PATCH" ? .loseReply : nil }
            _ = try await lane.uploader.response(for: lane.tusRequest, from: data, resuming: .tus())
            lane.expectStored(data)
            #expect(lane.exchanges == ["POST 201", "PATCH -", "HEAD 200"] || !ResumableLane.seesEachOnce)
        }

        @Test("C70: a server that claims more than there is, is not believed", arguments: [2_000_001, 3_000_001])
        func tooMuch(claim: Int64) async throws {
            let lane = try ResumableLane.tus { request in
                switch request.method {
                case "PATCH": .resetAfter(1_000_000)
                case "HEAD": .claimOffset(claim)
                default: nil
                }
            }
            // No more than two million bytes are read before the connection breaks.
            let body = UploadBody.stream(length: 3_000_000) { pieces(of: self.data) }
            var options = TusOptions()
            options.partSize = 2_000_000
            let seen = await Observation(
                lane.uploader.upload(for: lane.tusRequest, from: body, resuming: .tus(options))
            )
            #expect(seen.code == .protocolViolation)
            #expect(lane.server.requests.count { $0.method == "PATCH" } == 1 || !ResumableLane.seesEachOnce)
        }

        @Test(
            "A server that goes backwards gets the bytes again, where they can be read again",
            arguments: BodyKind.allCases
        )
        func backwards(kind: BodyKind) async throws {
            let lane = try ResumableLane.tus { request in
                request.method == "PATCH" && request.numberOfMethod == 2 ? .truncate(to: 100_000) : nil
            }
            var options = TusOptions()
            options.partSize = 1_000_000
            let body = try kind.body(data, in: lane.scratch)
            _ = try await lane.uploader.response(for: lane.tusRequest, from: body, resuming: .tus(options))
            lane.expectStored(data)

            let once = try ResumableLane.tus { request in
                request.method == "PATCH" && request.numberOfMethod == 2 ? .truncate(to: 100_000) : nil
            }
            let stream = UploadBody.stream(pieces(of: data))
            let seen = await Observation(
                once.uploader.upload(for: once.tusRequest, from: stream, resuming: .tus(options))
            )
            #expect(seen.code == .bodyNotReplayable)
        }

        @Test("C67: an upload that is gone is created anew, a few times", arguments: [1, 2, 3])
        func gone(times: Int) async throws {
            let lane = try ResumableLane.tus { request in
                request.method == "PATCH" && request.numberOfMethod <= times ? [.forget, .resetAfter(0)] : nil
            }
            let seen = await Observation(
                lane.uploader.upload(for: lane.tusRequest, from: data, resuming: .tus())
            )
            // A request that was repeated may have used up what was to go wrong.
            guard ResumableLane.seesEachOnce else { return }
            if times < TusMachine.creationLimit {
                #expect(seen.error == nil)
                lane.expectStored(data)
            } else {
                #expect(seen.code == .uploadExpired)
            }
            #expect(lane.server.requests.count { $0.method == "POST" } == min(times + 1, TusMachine.creationLimit))
        }

        @Test(
            "C68: a location may be relative or absolute, but must be there",
            arguments: [TusServer.LocationStyle.path, .relative, .absolute]
        )
        func locations(style: TusServer.LocationStyle) async throws {
            let lane = try ResumableLane.tus(locationStyle: style)
            _ = try await lane.uploader.response(for: lane.tusRequest, from: data, resuming: .tus())
            lane.expectStored(data)
        }

        @Test(
            "C68: without a location, or with one that is none, nothing is sent",
            arguments: [nil, "ftp://h/x", "http://"]
        )
        func noLocation(text: String?) async throws {
            let lane = try ResumableLane.tus { $0.method == "POST" ? .location(text) : nil }
            let seen = await Observation(
                lane.uploader.upload(for: lane.tusRequest, from: data, resuming: .tus())
            )
            #expect(seen.code == .protocolViolation)
            #expect(lane.exchanges == ["POST 201"])
        }

        @Test("C68: another origin gets the bytes, but no secret")
        func foreignLocation() async throws {
            let other = try ResumableLane.tus()
            var creation = URLRequest(url: other.server.url("/files"), method: "POST")
            creation.setValue("1.0.0", forHTTPHeaderField: "Tus-Resumable")
            creation.setValue(String(data.count), forHTTPHeaderField: "Upload-Length")
            let location = try await other.uploader.send(creation).headers["Location"] ?? ""
            let lane = try ResumableLane.tus { _ in .location(other.server.url(location).absoluteString) }
            var request = lane.tusRequest
            request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
            request.setValue("kept", forHTTPHeaderField: "X-Tag")
            _ = try await lane.uploader.response(for: request, from: data, resuming: .tus())
            other.expectStored(data)
            #expect(lane.server.requests.first?.header("Authorization") == "Bearer secret")
            let patch = try #require(other.server.requests.last)
            #expect(patch.method == "PATCH")
            #expect(patch.header("Authorization") == nil)
            #expect(patch.header("X-Tag") == "kept")
        }

        @Test("A lock is waited for, and the server's word on how long")
        func locked() async throws {
            let lane = try ResumableLane.tus { request in
                if request.method == "PATCH", request.numberOfMethod == 1 { return .resetAfter(1_000) }
                return request.method == "HEAD" && request.numberOfMethod <= 2 ? .locked : nil
            }
            _ = try await lane.uploader.response(for: lane.tusRequest, from: data, resuming: .tus())
            lane.expectStored(data)
            #expect(lane.exchanges.filter { $0.hasPrefix("HEAD") } == ["HEAD 423", "HEAD 423", "HEAD 200"])
            guard ResumableLane.seesEachOnce else { return }
            #expect(lane.exchanges == ["POST 201", "PATCH -", "HEAD 423", "HEAD 423", "HEAD 200", "PATCH 204"])
        }

        @Test("C06: one fraction over all parts, and those in parallel")
        func fraction() async throws {
            for parallel in [1, 3] {
                let lane = try ResumableLane.tus()
                var options = TusOptions()
                options.partSize = 250_000
                options.parallelParts = parallel
                let file = try lane.scratch.file(data)
                let seen = await Observation(
                    lane.uploader.upload(for: lane.tusRequest, fromFile: file, resuming: .tus(options))
                )
                #expect(seen.error == nil)
                #expect(seen.fractions.count > 4)
                lane.expectStored(data)
            }
        }

        @Test("Parts that are sent side by side are joined, and a part that fails does not disturb the others")
        func concatenation() async throws {
            let lane = try ResumableLane.tus { request in
                request.method == "PATCH" && request.numberOfMethod <= 2 ? .resetAfter(10_000) : nil
            }
            var options = TusOptions()
            options.parallelParts = 3
            options.metadata = ["filename": "a"]
            _ = try await lane.uploader.response(for: lane.tusRequest, from: data, resuming: .tus(options))
            lane.expectStored(data)
            let final = try #require(lane.server.requests.last { $0.method == "POST" })
            #expect(final.header("Upload-Concat")?.hasPrefix("final;") == true)
            #expect(final.header("Upload-Metadata") != nil)
            let sent = lane.server.requests.filter { $0.method == "PATCH" }.reduce(0) { $0 + $1.bodyByteCount }
            #expect(sent == data.count || !ResumableLane.seesEachOnce)
        }

        @Test("A server that cannot join parts gets them one after the other")
        func noConcatenation() async throws {
            let lane = try ResumableLane.tus(extensions: [.creation])
            var options = TusOptions()
            options.parallelParts = 3
            _ = try await lane.uploader.response(for: lane.tusRequest, from: data, resuming: .tus(options))
            lane.expectStored(data)
            #expect(lane.exchanges == ["OPTIONS 204", "POST 201", "PATCH 204"])
        }

        @Test("C30: interceptors are asked for each request, and help against a refusal")
        func interceptors() async throws {
            let tokens = Locked(0)
            let interceptor = BearerTokenInterceptor { _ in
                tokens.withLock { count in
                    count += 1
                    return "token\(count)"
                }
            }
            let lane = try ResumableLane.tus { request in
                // From the third part on the first token is worth nothing any more.
                let isOld = request.header("Authorization") == "Bearer token1"
                return request.method == "PATCH" && (request.offset ?? 0) >= 2_000_000 && isOld ? .answer(401) : nil
            } configure: {
                $0.interceptors = [interceptor]
            }
            var options = TusOptions()
            options.partSize = 1_000_000
            _ = try await lane.uploader.response(for: lane.tusRequest, from: data, resuming: .tus(options))
            lane.expectStored(data)
            #expect(lane.server.requests.allSatisfy { $0.header("Authorization") != nil })
            #expect(lane.server.requests.last?.header("Authorization") == "Bearer token2")
        }

        @Test("Retries end where nothing moves, and begin to count anew where something does")
        func retries() async throws {
            let dead = try ResumableLane.tus { $0.method == "PATCH" ? .resetAfter(0) : nil }
            let seen = await Observation(
                dead.uploader.upload(for: dead.tusRequest, from: data, resuming: .tus())
            )
            #expect((seen.error as? UploadError)?.code.isConnectionLoss == true)
            #expect(dead.server.requests.count { $0.method == "PATCH" } == 4 || !ResumableLane.seesEachOnce)

            let slow = try ResumableLane.tus { $0.method == "PATCH" ? .resetAfter(200_000) : nil }
            _ = try await slow.uploader.response(for: slow.tusRequest, from: data, resuming: .tus())
            slow.expectStored(data)
            #expect(slow.server.requests.count { $0.method == "PATCH" } == 15 || !ResumableLane.seesEachOnce)
        }

        @Test("A server that takes nothing and says that all is well is given up")
        func standstill() async throws {
            let lane = try ResumableLane.tus { $0.method == "PATCH" ? .keepOnly(0) : nil }
            let seen = await Observation(
                lane.uploader.upload(for: lane.tusRequest, from: data, resuming: .tus())
            )
            #expect(seen.code == .protocolViolation)
        }

        @Test("A refusal is final", arguments: [400, 413, 415])
        func refusals(status: Int) async throws {
            let lane = try ResumableLane.tus { $0.method == "PATCH" ? .answer(status, body: "no") : nil }
            let seen = await Observation(
                lane.uploader.upload(for: lane.tusRequest, from: data, resuming: .tus())
            )
            #expect(seen.refusedStatus == status)
            #expect((seen.error as? UploadError)?.response?.body == Data("no".utf8))
            #expect(lane.server.requests.count { $0.method == "PATCH" } == 1)
        }

        @Test(
            "A link that drops again and again costs no more than a third on top",
            arguments: [BodyKind.file, .stream]
        )
        func droppingLink(kind: BodyKind) async throws {
            guard Carrier.underTest == .automatic else { return }
            let lane = try ResumableLane.tus {
                $0.method == "PATCH" ? .resetAfter(1_000_000) : nil
            } configure: {
                // About as much as a link drops in between.
                $0.limitRate = 4_000_000
            }
            let data = bytes(6_500_000)
            let body = try kind.body(data, in: lane.scratch)
            let response = try await lane.uploader.response(for: lane.tusRequest, from: body, resuming: .tus())
            lane.expectStored(data)
            #expect(lane.server.requests.count { $0.method == "PATCH" } >= 7)
            let sent = response.metrics.transactions.reduce(0) { $0 + $1.bytesSent }
            #expect(Double(sent) <= 1.3 * Double(data.count), "\(sent)")
            #expect(response.metrics.bytesSent == sent)
        }
    }
}
