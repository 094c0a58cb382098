import Foundation
import Testing

@testable import AsyncUpload

@Suite("A body in memory", .timeLimit(.minutes(5)))
struct DataBodySourceTests {
    @Test("It can be read from any offset, in pieces of any size, again and again", arguments: [0, 1, 10, 1000])
    func reading(count: Int) throws {
        let data = bytes(count)
        let source = DataBodySource(data)
        #expect(source.length == Int64(count))
        for size in [1, 3, 7, 1000, 5000] {
            for offset in Set([0, count / 3, count]) {
                #expect(try source.bytes(from: Int64(offset), inPiecesOf: size) == data.dropFirst(offset))
            }
        }
    }

    @Test("A slice is read from its own start")
    func slice() throws {
        let slice = bytes(100)[40..<60]
        #expect(slice.startIndex == 40)
        let source = DataBodySource(slice)
        #expect(source.length == 20)
        #expect(try source.bytes(inPiecesOf: 6) == slice)
        #expect(try source.bytes(at: 19, count: 10) == slice.suffix(1))
    }

    @Test("Outside of it there is nothing", arguments: [-1, .min, 10, 11, .max] as [Int64])
    func outside(offset: Int64) throws {
        #expect(try DataBodySource(bytes(10)).bytes(at: offset, count: 5).isEmpty)
    }

    @Test("An empty buffer reads nothing")
    func emptyBuffer() async {
        await #expect(processExitsWith: .success) {
            let count = DataBodySource(bytes(10)).read(into: .init(start: nil, count: 0), at: 3)
            precondition(count == 0)
        }
    }

    @Test("It is its own contents and never changes")
    func contents() {
        let source = DataBodySource(bytes(10))
        source.checkUnchanged()
        guard case .data(let data) = source.contents else {
            Issue.record("not data")
            return
        }
        #expect(data == bytes(10))
    }
}
