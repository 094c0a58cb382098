import Foundation

@testable import AsyncUpload

extension BodySource {
    /// Up to `count` bytes from `offset`, with one read.
    func bytes(at offset: Int64, count: Int) throws -> Data {
        var data = Data(count: count)
        let read = try data.withUnsafeMutableBytes { try self.read(into: $0, at: offset) }
        return data.prefix(read)
    }

    /// All bytes from `offset`, in pieces.
    func bytes(from offset: Int64 = 0, inPiecesOf size: Int) throws -> Data {
        var data = Data()
        while true {
            let piece = try bytes(at: offset + Int64(data.count), count: size)
            guard !piece.isEmpty else { return data }
            data += piece
        }
    }
}

extension OpenBody {
    /// The source, if it is one.
    func source() throws -> any BodySource {
        guard case .source(let source) = self else { throw UploadError(.bodyUnreadable, detail: "a stream") }
        return source
    }
}
