import Foundation

extension Pipe {
    /// What is written into it, as it comes, up to its end.
    var pieces: AsyncStream<Data> {
        let (pieces, piece) = AsyncStream<Data>.makeStream()
        fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            guard data.isEmpty else { return _ = piece.yield(data) }
            handle.readabilityHandler = nil
            piece.finish()
        }
        return pieces
    }
}
