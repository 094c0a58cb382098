import Foundation

/// What a checkpoint's file says.
struct CheckpointRecord: Codable {
    var identifier: String
    var saved: Date
    var checkpoint: UploadCheckpoint

    init(identifier: String, saved: Date, checkpoint: UploadCheckpoint) {
        self.identifier = identifier
        self.saved = saved
        self.checkpoint = checkpoint
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        // First: the rest of another version may be anything.
        let version = try values.decode(Versioned.self, forKey: .checkpoint).version
        guard version == UploadCheckpoint.currentVersion else { throw CheckpointFault.version(version) }
        identifier = try values.decode(String.self, forKey: .identifier)
        saved = try values.decode(Date.self, forKey: .saved)
        checkpoint = try values.decode(UploadCheckpoint.self, forKey: .checkpoint)
    }

    private struct Versioned: Decodable {
        var version: Int
    }

    /// Whether an identifier is meant, byte by byte: texts that only look the same may be the paths of two files.
    func isOf(_ identifier: String) -> Bool {
        self.identifier.utf8.elementsEqual(identifier.utf8)
    }

    /// The dates are in seconds as they are in memory, so that they are the same when they are read again.
    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }

    /// - Throws: ``CheckpointFault`` and nothing else.
    static func decoded(_ data: Data) throws(CheckpointFault) -> CheckpointRecord {
        do {
            return try JSONDecoder().decode(CheckpointRecord.self, from: data)
        } catch let fault as CheckpointFault {
            throw fault
        } catch {
            throw .damaged
        }
    }
}
