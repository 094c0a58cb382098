import AsyncUpload
import Foundation

/// Has a command print the URLs of an upload's parts: at its beginning, when another process goes on with it, and when
/// one of them is asked for again, since it may have expired.
actor PartURLCommand {
    enum Purpose: Hashable {
        case part(Int)
        case complete, abort, list
    }

    private let command: String
    private var count: Int
    private let needsList: Bool
    private var urls: PartURLs?
    /// Grows when there are new URLs.
    private var edition = 0
    /// In which edition each was given out.
    private var given: [Purpose: Int] = [:]
    /// The command has begun another upload when it was asked for this one.
    private var cannotRenew = false
    private var renewal: Task<PartURLs, any Error>?

    /// - Parameters:
    ///   - count: how many parts there are, as far as that is known.
    ///   - needsList: whether another process is to go on with the upload, which has to ask what is there.
    init(_ command: String, count: Int, needsList: Bool) {
        self.command = command
        self.count = count
        self.needsList = needsList
    }

    /// Begins an upload.
    func create() async throws -> String {
        (urls, given, cannotRenew) = (nil, [:], false)
        return try await run(for: "").identifier
    }

    /// - Parameter identifier: the upload, as it was called when it began.
    func request(_ purpose: Purpose, of identifier: String) async throws -> URLRequest {
        var current = try await current(purpose, identifier)
        switch purpose {
        case .part(let number):
            if number > current.parts.count, !cannotRenew {
                count = min(max(number, 10 * count), 10_000)
                current = try await renewed(current)
            }
            return try current.part(number)
        case .complete: return URLRequest(url: current.complete)
        case .abort: return URLRequest(url: try Self.present(current.abort, "abort"))
        case .list: return URLRequest(url: try Self.present(current.list, "list"))
        }
    }

    private static func present(_ url: URL?, _ key: String) throws(PartURLFailure) -> URL {
        guard let url else { throw PartURLFailure("the JSON has no \(key)") }
        return url
    }

    private func current(_ purpose: Purpose, _ identifier: String) async throws -> PartURLs {
        guard let urls else {
            // An upload of an earlier process. A command that begins another one instead says so by its list: nothing
            // is there, and all is sent to that one.
            let fresh = try await run(for: identifier)
            given[purpose] = edition
            return fresh
        }
        defer { given[purpose] = edition }
        guard given[purpose] == edition, !cannotRenew else { return urls }
        return try await renewed(urls)
    }

    /// The same upload's URLs, signed once more. Those that there are stay if the command does not know how.
    private func renewed(_ old: PartURLs) async throws -> PartURLs {
        let fresh = try await run(for: old.identifier)
        guard fresh.identifier != old.identifier else { return fresh }
        (urls, cannotRenew) = (old, true)
        return old
    }

    /// Several that want it at the same time have it run once.
    private func run(for identifier: String) async throws -> PartURLs {
        if let renewal { return try await renewal.value }
        let (command, count) = (command, count)
        let task = Task {
            try PartURLs(json: try await ShellCommand.output(of: command, arguments: ["\(count)", identifier]))
        }
        renewal = task
        defer { renewal = nil }
        let fresh = try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
        guard !needsList || fresh.list != nil else {
            throw PartURLFailure("the JSON has no list, without which nobody can go on with the upload")
        }
        (urls, edition) = (fresh, edition + 1)
        return fresh
    }
}
