import AsyncUpload
import Foundation
import Testing

@testable import upload

/// The sequence itself, over descriptors of the tests' own.
@Suite(.timeLimit(.minutes(5)))
struct StandardInputTests {
    private let folder: TemporaryFolder
    private let file: URL

    init() throws {
        folder = try TemporaryFolder()
        file = try folder.write("file", Data(count: 100_000))
    }

    private func contents(_ input: StandardInput) async throws -> Data {
        try await input.reduce(into: Data()) { $0.append($1) }
    }

    private func waiting(_ descriptor: Int32) -> Int {
        var count: Int32 = 0
        return ioctl(descriptor, UInt(FIONREAD), &count) == 0 ? Int(count) : -1
    }

    private func error(of input: StandardInput) async -> UploadError? {
        await #expect(throws: UploadError.self) { try await contents(input) }
    }

    // MARK: Pipes

    /// Nobody writes faster than the upload takes.
    @Test func readsOnlyWhatIsAskedFor() async throws {
        let pipe = Pipe()
        let reader = pipe.fileHandleForReading.fileDescriptor
        let input = StandardInput(descriptor: reader)
        #expect(input.length == nil)
        let pieces = input.makeAsyncIterator()
        try pipe.fileHandleForWriting.write(contentsOf: Data("one".utf8))
        #expect(waiting(reader) == 3)
        #expect(try await pieces.next() == Data("one".utf8))
        try pipe.fileHandleForWriting.write(contentsOf: Data("two".utf8))
        #expect(waiting(reader) == 3)
        #expect(try await pieces.next() == Data("two".utf8))
        try pipe.fileHandleForWriting.close()
        #expect(try await pieces.next() == nil)
    }

    @Test func piecesAreLimited() async throws {
        let pieces = StandardInput(descriptor: open(file.path, O_RDONLY)).makeAsyncIterator()
        #expect(try await pieces.next()?.count == 65_536)
        #expect(try await pieces.next()?.count == 34_464)
        #expect(try await pieces.next() == nil)
    }

    /// The pipe stays open and empty throughout: nothing but the cancellation can end the wait.
    @Test func cancellingEndsTheWait() async throws {
        let pipe = Pipe()
        let input = StandardInput(descriptor: pipe.fileHandleForReading.fileDescriptor)
        let (starts, start) = AsyncStream<Void>.makeStream()
        let task = Task {
            let pieces = input.makeAsyncIterator()
            start.finish()
            return try await pieces.next()
        }
        for await _ in starts {}
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        // Lets the thread go that still waits.
        try pipe.fileHandleForWriting.close()
    }

    @Test func cancelledBeforehandReadsNothing() async throws {
        let pipe = Pipe()
        let reader = pipe.fileHandleForReading.fileDescriptor
        try pipe.fileHandleForWriting.write(contentsOf: Data("x".utf8))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await StandardInput(descriptor: reader).makeAsyncIterator().next()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(waiting(reader) == 1)
    }

    @Test func nonBlockingDescriptor() async throws {
        let pipe = Pipe()
        let reader = pipe.fileHandleForReading.fileDescriptor
        #expect(fcntl(reader, F_SETFL, O_NONBLOCK) == 0)
        async let bytes = contents(StandardInput(descriptor: reader))
        try pipe.fileHandleForWriting.write(contentsOf: Data("late".utf8))
        try pipe.fileHandleForWriting.close()
        #expect(try await bytes == Data("late".utf8))
    }

    // MARK: Files

    @Test func lengthOfTheRest() async throws {
        let descriptor = open(file.path, O_RDONLY)
        defer { close(descriptor) }
        #expect(StandardInput(descriptor: descriptor).length == 100_000)
        lseek(descriptor, 99_000, SEEK_SET)
        let input = StandardInput(descriptor: descriptor)
        #expect(input.length == 1000)
        #expect(try await contents(input) == Data(count: 1000))
        #expect(StandardInput(descriptor: descriptor).length == 0)
        #expect(try await contents(StandardInput(descriptor: descriptor)).isEmpty)
        lseek(descriptor, 200_000, SEEK_SET)
        #expect(StandardInput(descriptor: descriptor).length == 0)
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status")))
    func fileThatDoesNotTellItsLength() async throws {
        let descriptor = open("/proc/self/status", O_RDONLY)
        defer { close(descriptor) }
        let input = StandardInput(descriptor: descriptor)
        #expect(input.length == nil)
        #expect(try await !contents(input).isEmpty)
    }

    @Test(arguments: [99_999, 100_001, 100_000])
    func changedFile(size: Int) async throws {
        let descriptor = open(file.path, O_RDWR)
        defer { close(descriptor) }
        let input = StandardInput(descriptor: descriptor)
        let pieces = input.makeAsyncIterator()
        _ = try await pieces.next()
        if size == 100_000 {
            var times = [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)]
            #expect(utimes(file.path, &times) == 0)
        } else {
            #expect(ftruncate(descriptor, off_t(size)) == 0)
        }
        let error = await #expect(throws: UploadError.self) { while try await pieces.next() != nil {} }
        #expect(error?.code == .fileChanged)
    }

    // MARK: What cannot be read

    @Test func closedDescriptor() async throws {
        let descriptor = open("/dev/null", O_WRONLY)
        defer { close(descriptor) }
        let error = await error(of: StandardInput(descriptor: descriptor))
        #expect(error?.code == .bodyUnreadable)
        #expect(error?.detail == "standard input is closed")
    }

    @Test func folder() async throws {
        let descriptor = open(folder.url.path, O_RDONLY)
        defer { close(descriptor) }
        let error = await error(of: StandardInput(descriptor: descriptor))
        #expect(error?.code == .bodyUnreadable)
        #expect(error?.detail == "Is a directory")
    }
}
