import Foundation

/// A body that is in memory. It is never copied as a whole.
final class DataBodySource: BodySource {
    private let data: Data

    init(_ data: Data) {
        self.data = data
    }

    var length: Int64 { Int64(data.count) }

    var files: [FileStatus] { [] }

    var contents: BodyContents { .data(data) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        guard offset >= 0, offset < length, !buffer.isEmpty else { return 0 }
        let count = min(buffer.count, data.count - Int(offset))
        let start = data.startIndex + Int(offset)
        data.copyBytes(to: buffer, from: start..<(start + count))
        return count
    }

    func checkUnchanged() {}

    func checkNameUnchanged() {}
}
