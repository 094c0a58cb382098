import Foundation
import LoopbackServer
import Testing

extension LoopbackServerTests {
    @Suite struct Digest {
        private let data = Data((0..<20_011).map { UInt8(truncatingIfNeeded: $0 &* 167 ^ $0 >> 5) })

        @Test(arguments: [1, 2, 3, 7, 8, 9, 15, 16, 64, 1001, 8193, 20_010])
        func doesNotDependOnPieces(size: Int) {
            var digest = BodyDigest()
            data.withUnsafeBytes { bytes in
                for start in stride(from: 0, to: bytes.count, by: size) {
                    let piece = bytes[start..<min(start + size, bytes.count)]
                    digest.update(UnsafeRawBufferPointer(rebasing: piece))
                    digest.update(UnsafeRawBufferPointer(start: nil, count: 0))
                }
            }
            #expect(digest.value == BodyDigest.of(data))
        }

        @Test func tellsDifferencesApart() {
            var seen: Set<UInt64> = []
            var count = 0
            func add(_ change: (inout Data) -> Void) {
                var copy = data
                change(&copy)
                seen.insert(BodyDigest.of(copy))
                count += 1
            }
            add { _ in }
            // Both in whole words and in the rest.
            for position in [0, 1, 7, 8, 4095, 20_000, 20_007, 20_008, 20_010] {
                for bit in 0..<8 { add { $0[position] ^= 1 << bit } }
            }
            // The top bit of a word and that of another one.
            for (one, other) in [(7, 15), (7, 8007), (15, 23), (19_999, 20_007), (7, 20_010)] {
                add { data in
                    data[one] ^= 0x80
                    data[other] ^= 0x80
                }
            }
            add { $0.swapAt(100, 101) }
            add { data in for offset in 0..<8 { data.swapAt(800 + offset, 808 + offset) } }
            add { data in for offset in 0..<8 { data.swapAt(offset, 16_000 + offset) } }
            for length in [1, 3, 8, 11] {
                add { $0.removeLast(length) }
                add { $0.removeFirst(length) }
                add { $0.append(Data(count: length)) }
            }
            #expect(seen.count == count)
        }

        @Test func tellsZerosApart() {
            let values = (0..<100).map { BodyDigest.of(Data(count: $0)) }
            #expect(Set(values).count == 100)
        }
    }
}
