import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

extension OverTheWire {
    @Suite("The IETF's resumable uploads") struct DraftOnTheWire {
        private let data = bytes(3_000_000)

        private func options(_ version: Int = 8, _ creation: ResumableDraftOptions.Creation? = nil)
            -> ResumableDraftOptions
        {
            var options = ResumableDraftOptions()
            (options.interopVersion, options.creation) = (version, creation)
            return options
        }

        @Test("Every kind of body arrives, begun either way", arguments: BodyKind.allCases)
        func bodies(kind: BodyKind) async throws {
            for creation in [nil, ResumableDraftOptions.Creation.optimistic, .careful] {
                let lane = try ResumableLane.draft()
                var options = options(8, creation)
                options.partSize = kind.hasLength ? nil : 1 << 20
                let body = try kind.body(data, in: lane.scratch)
                let seen = await Observation(
                    lane.uploader.upload(for: lane.draftRequest, from: body, resuming: .ietf(options))
                )
                #expect(seen.error == nil)
                lane.expectStored(data)
            }
        }

        @Test("Every version of the draft, unbroken and broken", arguments: [3, 5, 6, 7, 8])
        func versions(version: Int) async throws {
            for creation in [ResumableDraftOptions.Creation.optimistic, .careful] {
                for breaks in [false, true] {
                    let lane = try ResumableLane.draft { request in
                        breaks && request.number == (creation == .careful ? 2 : 1) ? .resetAfter(1_000_000) : nil
                    }
                    _ = try await lane.uploader.response(
                        for: lane.draftRequest,
                        from: data,
                        resuming: .ietf(options(version, creation))
                    )
                    lane.expectStored(data)
                }
            }
        }

        @Test("An optimistic upload is one request, and its response the server's own")
        func oneRequest() async throws {
            let lane = try ResumableLane.draft()
            let file = try lane.scratch.file(data)
            _ = try await lane.uploader.response(for: lane.draftRequest, fromFile: file, resuming: .ietf())
            #expect(lane.exchanges == ["POST 200"])
            #expect(lane.server.requests.first?.header("Upload-Complete") == "?1")
            #expect(lane.server.requests.first?.header("Upload-Length") == String(data.count))
        }

        @Test("A server without support takes it for a plain upload")
        func noSupport() async throws {
            let lane = try ResumableLane()
            ResumableDraftServer(store: lane.store, isSupported: false).install(on: lane.server)
            _ = try await lane.uploader.response(for: lane.draftRequest, from: data, resuming: .ietf())
            lane.expectStored(data)
            let careful = await Observation(
                lane.uploader.upload(for: lane.draftRequest, from: data, resuming: .ietf(options(8, .careful)))
            )
            #expect(careful.code == .protocolViolation)
        }

        @Test(
            "C74: a location that only an interim response has told is enough to go on",
            arguments: BodyKind.endingEarly
        )
        func interim(kind: BodyKind) async throws {
            let lane = try ResumableLane.draft { $0.method == "POST" ? .resetAfter(700_000) : nil }
            var options = options(8, .optimistic)
            options.partSize = kind.hasLength ? nil : 1 << 20
            let body = try kind.body(data, in: lane.scratch)
            _ = try await lane.uploader.response(for: lane.draftRequest, from: body, resuming: .ietf(options))
            lane.expectStored(data)
            #expect(
                lane.exchanges.prefix(3) == ["POST -", "HEAD 204", "PATCH \(kind.hasLength ? 200 : 204)"]
                    || !kind.hasLength
            )
            let sent = lane.server.requests.filter { $0.method == "PATCH" }.reduce(0) { $0 + $1.bodyByteCount }
            #expect(sent == data.count - 700_000)
        }

        @Test("Without a location a POST that breaks is not repeated, and a PUT is")
        func noInterim() async throws {
            for (method, isRepeated) in [("POST", false), ("PUT", true)] {
                let lane = try ResumableLane()
                ResumableDraftServer(store: lane.store, tellsLocation: false) { request in
                    request.number == 1 ? .resetAfter(700_000) : nil
                }.install(on: lane.server)
                let request = lane.lane.request("/upload", method: method)
                let seen = await Observation(lane.uploader.upload(for: request, from: data, resuming: .ietf()))
                #expect((seen.error == nil) == isRepeated)
                #expect(lane.exchanges == (isRepeated ? ["PUT -", "PUT 200"] : ["POST -"]))
            }
        }

        @Test("The last answer is lost: the server is asked, and nothing is sent again")
        func lostReply() async throws {
            let lane = try ResumableLane.draft { $0.method == "POST" ? .loseReply : nil }
            _ = try await lane.uploader.response(for: lane.draftRequest, from: data, resuming: .ietf())
            #expect(lane.exchanges == ["POST -", "HEAD 204"])
            lane.expectStored(data)
        }

        @Test("Limits are kept to")
        func limits() async throws {
            let lane = try ResumableLane.draft(limits: .init(maximumAppendSize: 1_000_000))
            let careful = options(8, .careful)
            _ = try await lane.uploader.response(for: lane.draftRequest, from: data, resuming: .ietf(careful))
            lane.expectStored(data)
            #expect(lane.server.requests.map(\.bodyByteCount) == [0, 1_000_000, 1_000_000, 1_000_000])

            let small = try ResumableLane.draft(limits: .init(maximumSize: 1_000_000))
            let seen = await Observation(
                small.uploader.upload(for: small.draftRequest, from: data, resuming: .ietf(careful))
            )
            #expect(seen.error != nil)
            #expect(small.server.requests.allSatisfy { $0.bodyByteCount == 0 })
        }

        @Test("A wrong offset is answered by the right one")
        func conflict() async throws {
            let lane = try ResumableLane.draft { request in
                request.method == "PATCH" && request.numberOfMethod == 1
                    ? .answer(409, headers: [("Upload-Offset", "0"), ("Upload-Draft-Interop-Version", "8")]) : nil
            }
            _ = try await lane.uploader.response(
                for: lane.draftRequest,
                from: data,
                resuming: .ietf(options(8, .careful))
            )
            lane.expectStored(data)
            #expect(lane.exchanges == ["POST 201", "PATCH 409", "PATCH 200"])
        }

        @Test("C70: a server that claims more than was sent is not believed")
        func tooMuch() async throws {
            let lane = try ResumableLane.draft { request in
                switch request.method {
                case "POST": .resetAfter(1_000_000)
                case "HEAD": .claimOffset(3_000_001)
                default: nil
                }
            }
            let seen = await Observation(
                lane.uploader.upload(for: lane.draftRequest, from: data, resuming: .ietf())
            )
            #expect(seen.code == .protocolViolation)
        }

        @Test("C74: what is gone is not begun anew where that might be done twice")
        func gone() async throws {
            for (method, isRepeated) in [("POST", false), ("PUT", true)] {
                let lane = try ResumableLane.draft { request in
                    request.method == "HEAD" ? .forget : request.number == 1 ? .resetAfter(1_000) : nil
                }
                let request = lane.lane.request("/upload", method: method)
                let seen = await Observation(lane.uploader.upload(for: request, from: data, resuming: .ietf()))
                #expect(seen.code == (isRepeated ? nil : .uploadExpired))
                if isRepeated { lane.expectStored(data) }
            }
        }

        @Test("An unknown version is refused before anything is sent")
        func unknownVersion() async throws {
            let lane = try ResumableLane.draft()
            for version in [2, 9] {
                let seen = await Observation(
                    lane.uploader.upload(for: lane.draftRequest, from: data, resuming: .ietf(options(version)))
                )
                #expect(seen.code == .optionNotSupported)
            }
            #expect(lane.server.requests.isEmpty)
        }
    }
}
