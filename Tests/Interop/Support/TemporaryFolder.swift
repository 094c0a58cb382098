import Foundation

/// A folder that is removed with the last reference to it.
final class TemporaryFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("interop-tests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        remove()
    }

    func remove() {
        try? FileManager.default.removeItem(at: url)
    }

    func file(_ name: String) -> URL {
        url.appendingPathComponent(name)
    }

    @discardableResult
    func write(_ name: String, _ data: Data) throws -> URL {
        try data.write(to: file(name))
        return file(name)
    }

    func read(_ name: String) throws -> Data {
        try Data(contentsOf: file(name))
    }
}
