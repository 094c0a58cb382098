import Foundation
import Testing

@testable import AsyncUpload

@Suite("Parts of bodies") struct BodyPartTests {
    @Test func cursor() {
        var whole = PartCursor(length: 100, partSize: nil)
        #expect(whole.next(at: 30) == .part(30..<100, isLast: true))
        #expect(whole.next(at: 100) == .part(100..<100, isLast: true))
        whole.partSize = 30
        #expect(whole.next(at: 60) == .part(60..<90, isLast: false))
        #expect(whole.next(at: 70) == .part(70..<100, isLast: true))
        #expect(whole.next(at: 0, alignment: 20) == .part(0..<20, isLast: false))
        #expect(PartCursor(length: 100, partSize: .max).next(at: 1) == .part(1..<100, isLast: true))
        #expect(PartCursor(length: 3, partSize: 0).next(at: 1) == .part(1..<2, isLast: false))
    }

    @Test func cursorOfUnknownLength() {
        var cursor = PartCursor(length: nil, partSize: 10)
        #expect(cursor.next(at: 0) == .read(from: 0, count: 11))
        cursor.didRead(from: 0, to: 11, isEnd: false)
        #expect(cursor.next(at: 0) == .part(0..<10, isLast: false))
        #expect(cursor.next(at: 4) == .read(from: 4, count: 11))
        cursor.didRead(from: 4, to: 14, isEnd: true)
        #expect(cursor.length == 14)
        #expect(cursor.next(at: 4) == .part(4..<14, isLast: true))
        #expect(cursor.next(at: 0) == .part(0..<10, isLast: false))
    }

    @Test func slice() throws {
        let data = bytes(1000)
        let source = DataBodySource(data)
        let slice = SlicedBodySource(source, 100..<300)
        #expect(slice.length == 200)
        #expect(try slice.bytes(inPiecesOf: 7) == data[100..<300])
        #expect(try slice.bytes(from: 150, inPiecesOf: 100) == data[250..<300])
        #expect(SlicedBodySource.slice(source, 0..<1000) === source)
        guard case .data(let part) = slice.contents else { throw Unexpected(text: "\(slice.contents)") }
        #expect(part == data[100..<300])
        #expect(SlicedBodySource(source, 900..<5000).length == 100)
        #expect(SlicedBodySource(source, 5000..<6000).length == 0)
    }

    private func window(_ data: Data, replayable: Bool = true, length: Int64? = nil) -> StreamWindow {
        let recipe = StreamRecipe(length: length, isReplayable: replayable) {
            try await StreamRecipe.send(pieces(of: data, size: 100), to: $0)
        }
        return StreamWindow(BodyStream(recipe))
    }

    @Test func windowMovesForward() async throws {
        let data = bytes(1000)
        let window = window(data, replayable: false)
        #expect(try await window.load(from: 0, count: 101) == (101, false))
        #expect(try await contents(window, 20..<90) == data[20..<90])
        #expect(try await window.load(from: 500, count: 300) == (800, false))
        #expect(try await contents(window, 500..<800) == data[500..<800])
        #expect(try await window.load(from: 700, count: 1000) == (1000, true))
        #expect(try await contents(window, 700..<1000) == data[700..<1000])
        // The end is told even where it comes before what was asked for.
        #expect(try await window.load(from: 5000, count: 1) == (1000, true))
        await #expect(throws: UploadError.self) { try await window.load(from: 0, count: 1) }
    }

    @Test func windowMovesBackWhereTheStreamCanBeMadeAnew() async throws {
        let data = bytes(1000)
        let window = window(data, length: 1000)
        #expect(try await contents(window, 900..<1000) == data[900..<1000])
        #expect(try await contents(window, 10..<700) == data[10..<700])
        await window.close()
    }

    @Test func windowOfAStreamThatFails() async throws {
        struct Broken: Error {}
        let recipe = StreamRecipe(length: nil, isReplayable: true) { sink in
            try await sink.write(bytes(10))
            throw Broken()
        }
        let window = StreamWindow(BodyStream(recipe))
        await #expect(throws: UploadError.self) { try await window.load(from: 0, count: 100) }
    }

    @Test func windowThatIsGivenUp() async throws {
        let recipe = StreamRecipe(length: nil, isReplayable: false) { sink in
            try await sink.write(bytes(10))
            try await Task.sleep(for: .seconds(3600))
        }
        let window = StreamWindow(BodyStream(recipe))
        #expect(try await window.load(from: 0, count: 10) == (10, false))
        let loading = Task { try await window.load(from: 0, count: 11) }
        loading.cancel()
        await #expect(throws: CancellationError.self) { try await loading.value }
        // It is not the worse for it.
        #expect(try await contents(window, 0..<10) == bytes(10))
        await window.close()
    }

    private func contents(_ window: StreamWindow, _ range: Range<Int64>) async throws -> Data {
        try await window.part(range).bytes(inPiecesOf: 64)
    }

    @Test func signal() async throws {
        let signal = Signal()
        signal.raise()
        signal.raise()
        try await signal.wait()
        async let waiting: Void = signal.wait()
        signal.raise()
        try await waiting
        let cancelled = Task { try await signal.wait() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        // One that comes late takes nobody else's place.
        for _ in 0..<200 {
            let late = Task {
                while !Task.isCancelled { await Task.yield() }
                try await signal.wait()
            }
            let waiting = Task { try await signal.wait() }
            late.cancel()
            signal.raise()
            try await waiting.value
            _ = await late.result
        }
    }
}
