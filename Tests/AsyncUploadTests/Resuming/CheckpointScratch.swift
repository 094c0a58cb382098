import Foundation
import Testing

@testable import AsyncUpload

/// A folder of a test's own, gone with the last reference to it.
final class CheckpointScratch: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appendingPathComponent("checkpoints-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    var path: String { url.path }

    func path(_ name: String) -> String { "\(url.path)/\(name)" }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() }
    }

    private func file(_ identifier: String) -> URL {
        url.appendingPathComponent(CheckpointName(for: identifier).checkpoint)
    }

    func contents(_ identifier: String) throws -> Data {
        try Data(contentsOf: file(identifier))
    }

    func write(_ contents: Data, _ identifier: String) throws {
        try contents.write(to: file(identifier))
    }

    func replace(_ text: String, by other: String, in identifier: String) throws {
        let contents = String(decoding: try contents(identifier), as: UTF8.self)
        try #require(contents.contains(text))
        try write(Data(contents.replacingOccurrences(of: text, with: other).utf8), identifier)
    }

    func setModificationDate(_ date: Date, _ identifier: String) throws {
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file(identifier).path)
    }

    /// How many files of the folder this process has open; `nil` where the system does not tell.
    var openDescriptorCount: Int? {
        guard let descriptors = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") else {
            return nil
        }
        return descriptors.count {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))?.hasPrefix(path) == true
        }
    }
}

/// The error by which something fails.
func failure(of work: () async throws -> Void) async -> UploadError? {
    do {
        try await work()
        return nil
    } catch {
        return error as? UploadError
    }
}

func code(of work: () async throws -> Void) async -> UploadError.Code? {
    await failure(of: work)?.code
}

/// What the system has said.
func posixCode(of work: () async throws -> Void) async -> CInt? {
    let error = await failure(of: work)
    guard let error, error.code == .checkpointFailed, let underlying = error.underlying as? NSError,
        underlying.domain == NSPOSIXErrorDomain
    else { return nil }
    return CInt(underlying.code)
}

extension UploadCheckpoint {
    static func sample(_ number: Int = 0, expires expiration: Date? = nil) -> UploadCheckpoint {
        UploadCheckpoint(
            creationDate: Date(timeIntervalSince1970: 1_700_000_000.123_456_7),
            protocolName: "tus",
            target: "https://example.com/files",
            body: Body(
                length: .max,
                contentType: "text/plain; charset=\"utf-8\"",
                files: [Body.File(device: .max, number: .max, size: 1 << 62, seconds: -1, nanoseconds: 999_999_999)]
            ),
            state: ResumptionState(
                location: "https://example.com/files/\(number)?a=%2F/b\u{e9}",
                partSize: 1 << 53 + 1,
                partSizeLimit: 1 << 54 + 1,
                parts: [1: .init(location: nil, entityTag: "\"tag\""), 10_000: .init(location: "x", entityTag: nil)],
                expiration: expiration
            )
        )
    }

    /// More than the system writes or reads at once.
    static func large(_ number: Int) -> UploadCheckpoint {
        var checkpoint = sample(number)
        for part in 1...2000 {
            checkpoint.state.parts[part] = ResumptionState.Part(location: "\(number)", entityTag: "\"\(part)\"")
        }
        return checkpoint
    }
}
