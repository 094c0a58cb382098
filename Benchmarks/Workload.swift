import Foundation

/// So many uploads of one size.
struct Workload {
    let name: String
    let byteCount: Int
    let uploadCount: Int
    /// Of which so many are made, and sent again and again if need be.
    let fileCount: Int
    /// How many uploads are under way at a time.
    let width: Int

    var title: String {
        "\(uploadCount) of \(name), " + (width == 1 ? "one by one" : "\(width) at a time")
    }

    /// Sends the files, and again from the first one, until `count` uploads have ended.
    ///
    /// Nothing is cancelled when one fails: Foundation might not come to an end then. The others are waited for.
    func send(_ count: Int, _ files: [URL], to url: URL, with sender: @escaping Contestant.Sender) async throws {
        let failure = await withTaskGroup(of: (any Error)?.self) { group -> (any Error)? in
            for index in 0..<count {
                if index >= width, let error = await group.next() ?? nil { return error }
                let file = files[index % files.count]
                group.addTask { await Self.error(of: { try await sender(file, url) }) }
            }
            for await case let error? in group { return error }
            return nil
        }
        if let failure { throw failure }
    }

    private static func error(of work: () async throws -> Void) async -> (any Error)? {
        do {
            try await work()
            return nil
        } catch {
            return error
        }
    }
}
