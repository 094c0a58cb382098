import Foundation
import Testing

@testable import AsyncUpload

@Suite("The buffer between who makes a body and who sends it", .timeLimit(.minutes(5)))
struct BodyPipeTests {
    private struct Broken: Error {}

    /// A pipe and what is known of its reader.
    private struct Lane {
        let pipe: BodyPipe
        let wakeUps: AsyncStream<Void>

        init(length: Int64? = nil, capacity: Int = 100, _ production: @escaping StreamRecipe.Production) {
            let (wakeUps, continuation) = AsyncStream<Void>.makeStream()
            self.wakeUps = wakeUps
            pipe = BodyPipe(length: length, capacity: capacity, production: production) { continuation.yield() }
        }

        /// Reads to the end, and waits where there is nothing.
        func readAll(inPiecesOf size: Int = 7) async throws -> Data {
            var data = Data()
            var wakeUps = wakeUps.makeAsyncIterator()
            var piece = Data(count: size)
            while true {
                switch piece.withUnsafeMutableBytes({ pipe.read(into: $0) }) {
                case .bytes(let count): data += piece.prefix(count)
                case .end: return data
                case .nothingYet: if await wakeUps.next() == nil { throw CancellationError() }
                case .failure(let error): throw error
                }
            }
        }
    }

    /// What one read comes to, in a word.
    private func read(_ pipe: BodyPipe, _ count: Int = 1000) -> String {
        var piece = Data(count: count)
        return switch piece.withUnsafeMutableBytes({ pipe.read(into: $0) }) {
        case .bytes(let count): "\(count)"
        case .end: "end"
        case .nothingYet: "nothing"
        case .failure(let error): (error as? UploadError)?.code.description ?? "\(type(of: error))"
        }
    }

    @Test("What is written is read, in order and whole", arguments: [1, 3, 99, 100, 101, 20_000], [1, 7, 64, 100_000])
    func whole(piece: Int, buffer: Int) async throws {
        // Enough to fill the buffer many times over; what is done byte by byte takes long.
        let data = bytes(piece < 99 || buffer < 64 ? 3000 : 20_000)
        for length in [nil, Int64(data.count)] {
            let lane = Lane(length: length) { try await StreamRecipe.send(pieces(of: data, size: piece), to: $0) }
            #expect(try await lane.readAll(inPiecesOf: buffer) == data)
            #expect(read(lane.pipe) == "end")
        }
    }

    @Test("Whoever writes waits while the buffer is full, and goes on when there is room")
    func full() async throws {
        let written = Locked(0)
        let lane = Lane(capacity: 100) { sink in
            for _ in 0..<50 {
                try await sink.write(bytes(30))
                written.withLock { $0 += 30 }
            }
        }
        try await eventually { written.withLock { $0 } >= 90 }
        // The piece that filled it is in the buffer already.
        #expect(written.withLock { $0 } == 90)
        #expect(read(lane.pipe, 30) == "30")
        try await eventually { written.withLock { $0 } == 120 }
        #expect(try await lane.readAll().count == 1470)
    }

    @Test("An empty piece is nothing")
    func emptyPiece() async throws {
        let lane = Lane { sink in
            for _ in 0..<3 { try await sink.write(Data()) }
        }
        #expect(try await lane.readAll().isEmpty)
    }

    @Test("The last byte of a length is kept until the end is known")
    func lastByte() async throws {
        let (written, go) = (Gate(), Gate())
        let lane = Lane(length: 10) { sink in
            try await sink.write(bytes(10))
            written.open()
            await go.wait()
        }
        await written.wait()
        #expect(read(lane.pipe) == "9")
        #expect(read(lane.pipe) == "nothing")
        go.open()
        #expect(try await lane.readAll() == bytes(10).suffix(1))
    }

    @Test("A byte too many or too few is an error, and the last byte of the length is never read")
    func mismatch() async throws {
        for count in [9, 11] {
            let ended = Gate()
            let lane = Lane(length: 10) { sink in
                defer { ended.open() }
                for _ in 0..<count { try await sink.write(bytes(1)) }
            }
            await ended.wait()
            let error = await #expect(throws: UploadError.self) { try await lane.readAll() }
            #expect(error?.code == .bodyLengthMismatch)
        }
    }

    @Test("An error of whoever writes comes at once, before what is still in the buffer")
    func failure() async throws {
        let lane = Lane { sink in
            try await sink.write(bytes(10))
            throw Broken()
        }
        try await eventually { read(lane.pipe, 1) == "bodyUnreadable" }
        #expect(read(lane.pipe) == "bodyUnreadable")
    }

    @Test("Whoever is cancelled in writing is woken, and what comes later is refused")
    func cancelled() async throws {
        let (started, woken) = (Gate(), Gate())
        let lane = Lane(capacity: 10) { sink in
            started.open()
            await #expect(throws: CancellationError.self) { try await sink.write(bytes(100)) }
            await #expect(throws: (any Error).self) { try await sink.write(bytes(1)) }
            #expect(Task.isCancelled)
            woken.open()
        }
        await started.wait()
        lane.pipe.cancel()
        lane.pipe.cancel()
        await woken.wait()
        #expect(read(lane.pipe) == "CancellationError")
    }

    @Test("Reading and writing at the same time, many times over, loses and doubles nothing")
    func race() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for round in 0..<40 {
                group.addTask {
                    let data = bytes(20_000, seed: UInt64(round + 1))
                    let lane = Lane(length: round % 2 == 0 ? nil : 20_000, capacity: 1000) {
                        try await StreamRecipe.send(pieces(of: data, size: 37 + round), to: $0)
                    }
                    let read = try await lane.readAll(inPiecesOf: 113)
                    #expect(read == data)
                }
            }
            try await group.waitForAll()
        }
    }
}

@Suite("A stream that goes through a file", .timeLimit(.minutes(5)))
struct SpoolTests {
    @Test("All of it is there, any number of times and from anywhere", arguments: [0, 1, 100_000])
    func whole(count: Int) async throws {
        let stream = BodyStream(recipe(bytes(count)))
        let source = try await stream.spooled(keepingName: false, within: .seconds(60))
        #expect(source.length == count)
        for _ in 0..<2 { #expect(try source.bytes(inPiecesOf: 999) == bytes(count)) }
        #expect(!stream.isSpent)
        #expect(try await stream.spooled(keepingName: false, within: .seconds(60)) === source)
    }

    @Test("A file that keeps its name goes with its source; another has none")
    func names() async throws {
        for keepsName in [true, false] {
            var source: (any BodySource)? = try await BodyStream(recipe(bytes(10))).spooled(
                keepingName: keepsName,
                within: .seconds(60)
            )
            guard case .file(let url) = source?.contents else { Issue.record("no file"); return }
            #expect(FileManager.default.fileExists(atPath: url.path) == keepsName)
            source = nil
            #expect(!FileManager.default.fileExists(atPath: url.path))
        }
    }

    @Test("A length is kept here, too", arguments: [9, 11])
    func mismatch(count: Int) async throws {
        let stream = BodyStream(recipe(bytes(count), length: 10))
        let error = await #expect(throws: UploadError.self) {
            try await stream.spooled(keepingName: false, within: .seconds(60))
        }
        #expect(error?.code == .bodyLengthMismatch)
        #expect(stream.isSpent)
    }

    @Test("What takes too long is given up")
    func limit() async throws {
        let released = Gate()
        let stream = BodyStream(
            StreamRecipe(length: nil, isReplayable: true) { _ in
                await withTaskCancellationHandler {
                    await released.wait()
                } onCancel: {
                    released.open()
                }
            }
        )
        let error = await #expect(throws: UploadError.self) {
            try await stream.spooled(keepingName: false, within: .milliseconds(50))
        }
        #expect(error?.code == .timedOut)
        await released.wait()
    }

    private func recipe(_ data: Data, length: Int64? = nil) -> StreamRecipe {
        StreamRecipe(length: length, isReplayable: false) { try await StreamRecipe.send(pieces(of: data), to: $0) }
    }
}
