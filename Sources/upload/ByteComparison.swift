import Foundation

/// Compares bytes that come in pieces with those of a file, without keeping either.
final class ByteComparison {
    enum Verdict: Equatable {
        case equal(Int64)
        /// The offset of the first byte that is not the file's.
        case different(at: Int64)
    }

    private let descriptor: Int32
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 64)
    private var offset: Int64 = 0
    private var difference: Int64?

    init(path: String) throws(SystemError) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(number: errno) }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        buffer.deallocate()
    }

    /// Takes the next piece.
    func take(_ piece: UnsafeRawBufferPointer) {
        var rest = piece
        while let start = rest.baseAddress, !rest.isEmpty {
            let count = min(rest.count, buffer.count)
            compare(start, count)
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
    }

    /// The verdict, once there are no more pieces: what the file has beyond them is a difference, too.
    func finish() -> Verdict {
        if difference == nil, read(1) > 0 { difference = offset }
        return difference.map(Verdict.different) ?? .equal(offset)
    }

    private func compare(_ bytes: UnsafeRawPointer, _ count: Int) {
        defer { offset += Int64(count) }
        guard difference == nil, let own = UnsafeRawPointer(buffer.baseAddress) else { return }
        let available = read(count)
        guard memcmp(own, bytes, available) != 0 || available < count else { return }
        let equal = (0..<available).first {
            own.load(fromByteOffset: $0, as: UInt8.self) != bytes.load(fromByteOffset: $0, as: UInt8.self)
        }
        difference = offset + Int64(equal ?? available)
    }

    /// - Returns: how many bytes of the file are in the buffer; fewer than asked for at its end.
    private func read(_ count: Int) -> Int {
        var filled = 0
        while filled < count, let start = buffer.baseAddress {
            let result = pread(descriptor, start + filled, count - filled, off_t(offset) + off_t(filled))
            if result < 0, errno == EINTR { continue }
            guard result > 0 else { break }
            filled += result
        }
        return filled
    }
}
