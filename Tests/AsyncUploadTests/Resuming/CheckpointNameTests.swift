import Foundation
import Testing

@testable import AsyncUpload

@Suite("What files of checkpoints are called")
struct CheckpointNameTests {
    @Test("The hash is FNV-1a")
    func hash() {
        #expect(CheckpointName.hash("".utf8) == 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
        #expect(CheckpointName.hash("a".utf8) == 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964)
        #expect(CheckpointName.hash("foobar".utf8) == 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18)
    }

    @Test("A name is readable, and short enough for any file system")
    func names() {
        #expect(
            CheckpointName(for: "tus https://a.example/b").checkpoint.hasPrefix("tus-https-a-example-b-")
        )
        for identifier in CheckpointStoreTests.identifiers {
            let name = CheckpointName(for: identifier)
            for file in [name.checkpoint, name.lock, name.partial()] {
                #expect(file.utf8.count < 143)
                #expect(!file.hasPrefix(".") && !file.hasPrefix("-"))
                #expect(CheckpointName.parse(file)?.name == name)
            }
        }
    }

    @Test("Other files are not taken for checkpoints")
    func foreignNames() {
        let hash = String(repeating: "0123456789abcdef", count: 2)
        #expect(CheckpointName.parse("x-\(hash).checkpoint") != nil)
        #expect(CheckpointName.parse("\(hash).lock") != nil)
        let others = [
            "", ".", "..", hash, "x-\(hash)", "x\(hash).checkpoint", "x-\(hash).json", "x-\(hash).partial",
            "x-\(hash)..partial", "x-\(hash).xyz.partial", "x-\(hash).1.lock", "x-\(hash.dropLast()).lock",
            "x-\(hash.uppercased()).lock", "ü-\(hash).lock", "a b-\(hash).lock", ".x-\(hash).lock", "notes.checkpoint",
        ]
        for other in others { #expect(CheckpointName.parse(other) == nil, "\(other)") }
    }
}
