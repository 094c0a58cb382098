import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

extension OverTheWire {
    /// Memory, descriptors, threads and how much goes on at a time: promises 9 and 11, cases C15, C19, C23, C76 to C79.
    ///
    /// What measures the whole process runs in one of its own.
    @Suite(.enabled(if: Platform.usesFoundationNetworking, "reads /proc")) struct Resources {
        @Test("4 GiB from a file take less than 64 MiB of memory", .disabled(if: ProcessResources.isSanitized))
        func memoryOfFiles() async {
            await #expect(processExitsWith: .success) {
                let lane = try Lane()
                lane.server.route("PUT", "/*", LoopbackServer.sink)
                let file = try lane.scratch.sparseFile(4 << 30)
                let seen = await Observation(lane.uploader.upload(for: lane.request("/x"), fromFile: file))
                #expect(seen.response != nil)
                #expect(lane.server.requests.first?.bodyByteCount == 4 << 30)
                #expect(ProcessResources.current.peakResidentSize < 64 << 20)
            }
        }

        @Test(
            "C18, C20: a form with 4 GiB begins at once, goes into no file, and takes less than 64 MiB of memory",
            .disabled(if: ProcessResources.isSanitized)
        )
        func memoryOfForms() async {
            await #expect(processExitsWith: .success) {
                let lane = try Lane()
                let temporary = try ScratchFolder()
                setenv("TMPDIR", temporary.url.path, 1)
                let (firstBytes, firstByte) = AsyncStream<ContinuousClock.Instant>.makeStream()
                let contents = Locked<Set<String>>([])
                lane.server.route("POST", "/*") { exchange in
                    _ = try exchange.readBody(upTo: 1)
                    firstByte.yield(.now)
                    while try exchange.readBody(upTo: 1 << 30) > 0 {
                        let names = try FileManager.default.contentsOfDirectory(atPath: temporary.url.path)
                        contents.withLock { $0.formUnion(names) }
                    }
                    try exchange.respond(200)
                }
                var form = MultipartForm()
                form.append("before", name: "a")
                form.append(fromFile: try lane.scratch.sparseFile(4 << 30), name: "f")
                form.append("after", name: "b")
                let start = ContinuousClock.now
                let request = lane.request("/x", method: "POST")
                let seen = await Observation(lane.uploader.upload(for: request, from: .multipart(form)))
                #expect(seen.response != nil)
                let received = try #require(lane.server.requests.first)
                #expect(received.bodyByteCount > 4 << 30)
                #expect(received.headers("Content-Length") == ["\(received.bodyByteCount)"])
                let begun = try #require(await firstBytes.first { _ in true })
                #expect(begun - start < .milliseconds(300))
                #expect(contents.withLock { $0 }.isEmpty)
                #expect(ProcessResources.current.peakResidentSize < 64 << 20)
            }
        }

        @Test(
            "2 GB that are made on the way take less than 64 MiB of memory",
            .disabled(if: ProcessResources.isSanitized)
        )
        func memoryOfStreams() async {
            await #expect(processExitsWith: .success) {
                let lane = try Lane()
                lane.server.route("PUT", "/*", LoopbackServer.sink)
                let piece = bytes(100_000)
                let body = UploadBody.stream(Pieces { $0 < 20_000 ? piece : nil })
                #expect(await Observation(lane.uploader.upload(for: lane.request("/x"), from: body)).response != nil)
                #expect(lane.server.requests.first?.bodyByteCount == 2_000_000_000)
                #expect(ProcessResources.current.peakResidentSize < 64 << 20)
            }
        }

        @Test("C19: data is not copied as a whole", .disabled(if: ProcessResources.isSanitized))
        func memoryOfData() async {
            await #expect(processExitsWith: .success) {
                let lane = try Lane()
                lane.server.route("PUT", "/*", LoopbackServer.sink)
                let size = 300_000_000
                let data = Data(repeating: 7, count: size)
                let before = ProcessResources.current.residentSize
                try ProcessResources.resetPeak()
                let seen = await Observation(lane.uploader.upload(for: lane.request("/x"), from: data))
                #expect(seen.response != nil)
                #expect(ProcessResources.current.peakResidentSize < before + size * 3 / 10)
            }
        }

        @Test("C15: nothing is left of uploaders that are gone", .disabled(if: ProcessResources.isSanitized))
        func uploadersAreReleased() async {
            await #expect(processExitsWith: .success) {
                let server = try LoopbackServer()
                server.route("PUT", "/*", LoopbackServer.sink)
                let request = URLRequest(url: server.url("/x"), method: "PUT")
                let makeAndUse = { @Sendable (count: Int) async throws in
                    for _ in 0..<count { _ = try await Uploader().response(for: request, from: Data("body".utf8)) }
                    try await server.wait { $0.openConnectionCount == 0 }
                }
                try await makeAndUse(100)
                let before = ProcessResources.current
                try await makeAndUse(2000)
                try await eventually("threads or descriptors are left") {
                    let now = ProcessResources.current
                    return now.descriptors <= before.descriptors + 2 && now.threads <= before.threads + 2
                }
                #expect(ProcessResources.current.residentSize < before.residentSize + 20 << 20)
            }
        }

        @Test("Transports are released, shut down or not", arguments: [Carrier.automatic, .streamed])
        func transportsAreReleased(carrier: Carrier) async throws {
            let server = try LoopbackServer()
            server.route("PUT", "/*", LoopbackServer.sink)
            for shutsDown in [true, false] {
                weak var released: (any Transport & AnyObject)?
                weak var delegate: SessionDelegate?
                do {
                    let transport = carrier.makeTransport(TransportOptions(idleConnectionLimit: 2))
                    released = transport as? any Transport & AnyObject
                    delegate = (transport as? URLSessionTransport)?.delegate
                    #expect(released != nil)
                    let uploader = Uploader(configuration: .init()) { transport }
                    _ = try await uploader.response(
                        for: URLRequest(url: server.url("/x"), method: "PUT"),
                        from: bytes(10)
                    )
                    if shutsDown { await uploader.shutDown() }
                }
                try await eventually("something is left") { released == nil && delegate == nil }
                try await server.wait { $0.openConnectionCount == 0 }
            }
        }

        @Test("C23: bodies are released right after the end, however it comes", arguments: [200, 500])
        func bodiesAreReleased(status: Int) async throws {
            let lane = try Lane()
            lane.server.route("PUT", "/*", LoopbackServer.accept(status: status))
            let released = Locked(0)
            for round in 0..<200 {
                let memory = UnsafeMutableRawPointer.allocate(byteCount: 1000, alignment: 1)
                memory.initializeMemory(as: UInt8.self, repeating: 1, count: 1000)
                let data = Data(
                    bytesNoCopy: memory,
                    count: 1000,
                    deallocator: .custom { memory, _ in
                        memory.deallocate()
                        released.withLock { $0 += 1 }
                    }
                )
                let task = lane.uploader.task(for: lane.request("/x"), from: data)
                if round % 4 == 3 { task.cancel() }
                _ = try? await task.response
            }
            try await eventually("bodies are left") { released.withLock { $0 == 200 } }
        }

        @Test("C76: 500 uploads at once all arrive over few connections")
        func manyAtOnce() async throws {
            let lane = try Lane()
            lane.server.route("POST", "/*", LoopbackServer.sink)
            let peak = Locked(0)
            let watch = Task { [server = lane.server] in
                try await server.wait { state in
                    peak.withLock { $0 = max($0, state.openConnectionCount) }
                    return state.requests.filter(\.ended).count == 500
                }
            }
            try await lane.sendAtOnce(500, method: "POST", .data(bytes(20_000)))
            let state = try await watch.value
            #expect(state.requests.count == 500)
            #expect(state.requests.allSatisfy { $0.bodyByteCount == 20_000 })
            // The server may see a new connection before the end of the one that it replaces.
            #expect(peak.withLock { $0 } <= 12)
        }

        @Test("C77: file bodies do not need many threads")
        func threads() async {
            await #expect(processExitsWith: .success) {
                let lane = try Lane()
                let peak = Locked(0)
                lane.server.route("PUT", "/*") { exchange in
                    try exchange.readBody()
                    peak.withLock { $0 = max($0, ProcessResources.current.threads) }
                    try exchange.respond(200)
                }
                let file = try lane.scratch.file(bytes(1_000_000))
                try await lane.sendAtOnce(100, .file(file))
                #expect(lane.server.requests.filter { $0.bodyByteCount == 1_000_000 }.count == 100)
                // One per connection, and the server's own, are the server's.
                #expect(peak.withLock { $0 } < 20 + lane.server.connectionCount + 1)
            }
        }

        @Test("C78: no more at a time than the limit, and one that stalls holds only its own place")
        func limit() async throws {
            let lane = try Lane { $0.maximumUploadsInFlight = 4 }
            let stalled = DispatchSemaphore(value: 0)
            let atOnce = Locked((now: 0, peak: 0))
            lane.server.route("PUT", "/*") { exchange in
                atOnce.withLock { $0 = ($0.now + 1, max($0.peak, $0.now + 1)) }
                try exchange.readBody()
                if exchange.request.path == "/0" { stalled.wait() }
                atOnce.withLock { $0.now -= 1 }
                try exchange.respond(200)
            }
            let tasks = (0..<20).map { lane.uploader.task(for: lane.request("/\($0)"), from: bytes(1000)) }
            for task in tasks.dropFirst() { _ = try await task.response }
            #expect(tasks[0].currentProgress.fraction <= 1)
            stalled.signal()
            _ = try await tasks[0].response
            #expect(atOnce.withLock { $0.peak } <= 4)
            #expect(lane.server.requests.count == 20)
        }

        @Test("First come, first served")
        func order() async throws {
            let lane = try Lane { $0.maximumUploadsInFlight = 1 }
            lane.server.route("PUT", "/*", LoopbackServer.sink)
            let tasks = (0..<50).map { lane.uploader.task(for: lane.request("/\($0)"), from: bytes(1000)) }
            for task in tasks { _ = try await task.response }
            #expect(lane.server.requests.map(\.path) == (0..<50).map { "/\($0)" })
        }

        @Test("C79: 10,000 files in the queue hold descriptors only for those under way, and little memory")
        func queuedFiles() async {
            await #expect(processExitsWith: .success) {
                let lane = try Lane { $0.retry = .exponential() }
                let go = DispatchSemaphore(value: 0)
                lane.server.route("PUT", "/*") { exchange in
                    try exchange.readBody()
                    go.wait()
                    go.signal()
                    try exchange.respond(200)
                }
                let file = try lane.scratch.file(bytes(1000))
                let before = ProcessResources.current
                let tasks = (0..<10_000).map { _ in lane.uploader.task(for: lane.request("/x"), fromFile: file) }
                try await lane.server.wait { $0.requests.filter { $0.isComplete }.count == 6 }
                try await eventually(within: .seconds(60)) { lane.uploader.inFlight == 10_000 }
                let during = ProcessResources.current
                // Two ends of each connection and a file each.
                #expect(during.descriptors < before.descriptors + 40)
                #expect(ProcessResources.isSanitized || during.residentSize < before.residentSize + 100 << 20)
                go.signal()
                for task in tasks { _ = try await task.response }
                #expect(lane.server.requests.count == 10_000)
            }
        }

        @Test("1,000 uploads of 1 MB at once all arrive and leave nothing behind")
        func manyLarge() async {
            await #expect(processExitsWith: .success) { try await checkNothingIsLeft(count: 1000, size: 1_000_000) }
        }

        @Test("5,000 uploads of 1 KB at once all arrive and leave nothing behind")
        func manySmall() async {
            await #expect(processExitsWith: .success) { try await checkNothingIsLeft(count: 5000, size: 1000) }
        }
    }
}

/// Sends a file so many times at once, in a process of its own, and looks for descriptors, threads and files afterwards.
private func checkNothingIsLeft(count: Int, size: Int) async throws {
    let folder = try ScratchFolder()
    setenv("TMPDIR", folder.url.path, 1)
    let file = try folder.file(bytes(size), name: "body")
    let server = try LoopbackServer()
    server.route("PUT", "/*", LoopbackServer.accept(digesting: true))
    let before = ProcessResources.current
    // The first one starts what the process keeps: the libraries' own threads and their descriptors.
    for (round, count) in [1, count].enumerated() {
        let uploader = Uploader()
        let request = URLRequest(url: server.url("/\(round)"), method: "PUT")
        let tasks = (0..<count).map { _ in uploader.task(for: request, fromFile: file) }
        for task in tasks { _ = try await task.response }
        await uploader.shutDown()
    }
    let received = server.requests.filter { $0.path == "/1" }
    #expect(received.count == count)
    #expect(received.allSatisfy { $0.digest == BodyDigest.of(bytes(size)) })
    try await server.wait { $0.openConnectionCount == 0 }
    try await eventually("descriptors or threads are left: \(before)") {
        let now = ProcessResources.current
        return now.descriptors <= before.descriptors + 4 && now.threads <= before.threads + 8
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["body"])
}

extension Lane {
    /// Starts so many uploads at once and waits for all of them.
    fileprivate func sendAtOnce(_ count: Int, method: String = "PUT", _ body: UploadBody) async throws {
        let tasks = (0..<count).map { _ in uploader.task(for: request("/x", method: method), from: body) }
        for task in tasks { _ = try await task.response }
    }
}
