import Foundation

/// The file that a demonstration sends.
struct DemoFile: Sendable {
    static let generatedSize = 64 << 20

    let path: String
    let label: String
    let isTemporary: Bool

    /// A file of the user's.
    init(_ path: String) {
        self.path = FilePath.absolute(path)
        label = path
        isTemporary = false
    }

    /// Writes a file whose contents do not repeat.
    ///
    /// - Throws: `SystemError`, or `CancellationError`; no file is left then.
    init(generating size: Int) throws {
        let (path, descriptor) = try TemporaryFiles.make().get()
        self.path = path
        label = "demo.bin"
        isTemporary = true
        defer { close(descriptor) }
        do {
            try Self.fill(StandardStream(descriptor: descriptor), size)
        } catch {
            TemporaryFiles.remove(path)
            throw error
        }
    }

    func remove() {
        if isTemporary { TemporaryFiles.remove(path) }
    }

    private static func fill(_ stream: StandardStream, _ size: Int) throws {
        var numbers = DistinctNumbers()
        var block = [UInt64](repeating: 0, count: 128 << 10)
        var left = size
        while left > 0 {
            try Task.checkCancellation()
            numbers.fill(&block)
            let piece = block.withUnsafeBytes { Data($0.prefix(left)) }
            let number = stream.write(piece)
            guard number == 0 else { throw SystemError(number: number) }
            left -= piece.count
        }
    }
}

/// Numbers that look random, none of which comes twice: SplitMix64 maps each count to another one.
private struct DistinctNumbers {
    private var state: UInt64 = 0

    /// Written without calls in the loop, so that it is quick in a debug build as well.
    mutating func fill(_ block: inout [UInt64]) {
        var state = state
        block.withUnsafeMutableBufferPointer { numbers in
            var index = 0
            while index < numbers.count {
                state &+= 0x9e37_79b9_7f4a_7c15
                var number = state
                number = (number ^ (number &>> 30)) &* 0xbf58_476d_1ce4_e5b9
                number = (number ^ (number &>> 27)) &* 0x94d0_49bb_1331_11eb
                numbers[index] = number ^ (number &>> 31)
                index &+= 1
            }
        }
        self.state = state
    }
}
