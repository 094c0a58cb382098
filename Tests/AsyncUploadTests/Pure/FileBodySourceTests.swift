import Foundation
import Testing

@testable import AsyncUpload

@Suite("A body in a file", .timeLimit(.minutes(5)))
struct FileBodySourceTests {
    private let scratch: ScratchFolder

    init() throws {
        scratch = try ScratchFolder()
    }

    private func expectRefused(
        _ url: URL,
        _ code: UploadError.Code,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let error = #expect(throws: UploadError.self, sourceLocation: sourceLocation) { _ = try FileBodySource(url) }
        #expect(error?.code == code, sourceLocation: sourceLocation)
    }

    private func expectChanged(sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void) {
        let error = #expect(throws: UploadError.self, sourceLocation: sourceLocation, performing: body)
        #expect(error?.code == .fileChanged, sourceLocation: sourceLocation)
    }

    /// A file that was last modified long ago: two changes within one tick of the clock could look like none.
    private func oldFile(_ data: Data) throws -> URL {
        let file = try scratch.file(data)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1_000_000)],
            ofItemAtPath: file.path
        )
        return file
    }

    @Test("It can be read from any offset, in pieces of any size, again and again", arguments: [0, 1, 10, 1000])
    func reading(count: Int) throws {
        let data = bytes(count)
        let source = try FileBodySource(scratch.file(data))
        #expect(source.length == Int64(count))
        for size in [1, 3, 7, 1000, 5000] {
            for offset in Set([0, count / 3, count]) {
                #expect(try source.bytes(from: Int64(offset), inPiecesOf: size) == data.dropFirst(offset))
            }
        }
        try source.checkUnchanged()
    }

    @Test("Beyond its end there is nothing")
    func beyond() throws {
        let source = try FileBodySource(scratch.file(bytes(10)))
        #expect(try source.bytes(at: 10, count: 5).isEmpty)
        #expect(try source.bytes(at: 11, count: 5).isEmpty)
        #expect(try source.bytes(at: .max, count: 5).isEmpty)
        #expect(try source.read(into: UnsafeMutableRawBufferPointer(start: nil, count: 0), at: 0) == 0)
    }

    @Test("Before its start there is nothing")
    func before() throws {
        let source = try FileBodySource(scratch.file(bytes(10)))
        let error = #expect(throws: UploadError.self) { try source.bytes(at: -1, count: 5) }
        #expect(error?.code == .bodyUnreadable)
    }

    @Test("What is missing is not found")
    func missing() throws {
        expectRefused(scratch.path("missing"), .fileNotFound)
        expectRefused(try scratch.file(bytes(1)).appendingPathComponent("below"), .fileNotFound)
    }

    @Test("What may not be read is denied", .enabled(if: geteuid() != 0, "root may read everything"))
    func denied() throws {
        let file = try scratch.file(bytes(1))
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: file.path)
        expectRefused(file, .permissionDenied)
    }

    @Test("What is no file with a size of its own is refused, and nothing waits")
    func notRegular() throws {
        expectRefused(scratch.url, .notARegularFile)
        let fifo = scratch.path("fifo")
        #expect(mkfifo(fifo.path, 0o600) == 0)
        expectRefused(fifo, .notARegularFile)
        expectRefused(url("file:///dev/null"), .notARegularFile)
        expectRefused(url("http://a.test/file"), .notARegularFile)
    }

    #if os(Linux)
        @Test("A file whose size says nothing about its contents is refused")
        func proc() {
            expectRefused(url("file:///proc/cpuinfo"), .notARegularFile)
        }

        @Test("The descriptor is closed with the last reference")
        func descriptor() throws {
            let file = try scratch.file(bytes(10))
            var source: FileBodySource? = try FileBodySource(file)
            #expect(try source?.bytes(at: 0, count: 10).count == 10)
            #expect(descriptors(of: file) == 1)
            source = nil
            #expect(descriptors(of: file) == 0)
        }

        @Test("A body that is refused leaves no descriptor")
        func refusedDescriptor() throws {
            expectRefused(scratch.url, .notARegularFile)
            #expect(descriptors(of: scratch.url) == 0)
        }

        /// How many open descriptors of this process lead to the file.
        private func descriptors(of file: URL) -> Int {
            let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
            let path = file.resolvingSymlinksInPath().path
            return numbers.filter { number in
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")) == path
            }.count
        }
    #endif

    @Test("A symbolic link stands for its target, a dangling one for nothing")
    func links() throws {
        let file = try scratch.file(bytes(1000), name: "target")
        let link = scratch.path("link")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
        let source = try FileBodySource(link)
        #expect(source.length == 1000)
        #expect(try source.bytes(inPiecesOf: 100) == bytes(1000))
        let dangling = scratch.path("dangling")
        try FileManager.default.createSymbolicLink(at: dangling, withDestinationURL: scratch.path("nothing"))
        expectRefused(dangling, .fileNotFound)
        let ring = scratch.path("ring")
        try FileManager.default.createSymbolicLink(at: ring, withDestinationURL: ring)
        expectRefused(ring, .notARegularFile)
    }

    @Test("A file that was cut off while it was open has changed")
    func truncated() throws {
        let file = try oldFile(bytes(1000))
        let source = try FileBodySource(file)
        #expect(try source.bytes(at: 0, count: 100) == bytes(1000).prefix(100))
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: 500)
        try handle.close()
        expectChanged { _ = try source.bytes(at: 600, count: 100) }
        expectChanged { _ = try source.bytes(at: 0, count: 100) }
        expectChanged { try source.checkUnchanged() }
    }

    @Test("A file that grew while it was open has changed")
    func appended() throws {
        let file = try oldFile(bytes(1000))
        let source = try FileBodySource(file)
        let handle = try FileHandle(forWritingTo: file)
        try handle.seekToEnd()
        try handle.write(contentsOf: bytes(1))
        try handle.close()
        expectChanged { _ = try source.bytes(at: 0, count: 100) }
        expectChanged { try source.checkUnchanged() }
    }

    @Test("A file that was written over while it was open has changed, though its size is the same")
    func overwritten() throws {
        let file = try oldFile(bytes(1000))
        let source = try FileBodySource(file)
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: bytes(1000, seed: 2))
        try handle.close()
        expectChanged { _ = try source.bytes(at: 0, count: 100) }
        expectChanged { try source.checkUnchanged() }
    }

    @Test("What happens to the file's name does not matter")
    func removed() throws {
        let file = try oldFile(bytes(1000))
        let source = try FileBodySource(file)
        try FileManager.default.removeItem(at: file)
        _ = try scratch.file(bytes(5, seed: 2), name: file.lastPathComponent)
        #expect(try source.bytes(inPiecesOf: 300) == bytes(1000))
        try source.checkUnchanged()
    }

    @Test("Many may read it at the same time")
    func concurrently() async throws {
        let data = bytes(100_000)
        let source = try FileBodySource(scratch.file(data))
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<16 {
                group.addTask {
                    (try? source.bytes(from: Int64(number * 1000), inPiecesOf: 999)) == data.dropFirst(number * 1000)
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}
