import AsyncUpload
import Foundation

extension Source {
    /// How it goes on when it was interrupted; `nil` if it does not.
    ///
    /// - Throws: ``SourceFailure`` when the URLs of its parts cannot be read.
    func resuming(_ payload: Payload, _ options: Options) throws(SourceFailure) -> ResumableProtocol? {
        guard let resumable = options.resumable else { return nil }
        var edition: String?
        var resuming: ResumableProtocol
        switch resumable {
        case .tus: resuming = .tus(tusOptions(payload, options))
        case .ietf: resuming = .ietf()
        case .gcs: resuming = .gcs()
        case .s3:
            switch options.partURLs {
            case .file(let path):
                let urls = try Self.partURLs(path)
                edition = urls.identifier
                resuming = .s3Multipart(.init(urls, length: payload.size))
            case .command(let command):
                resuming = .s3Multipart(.init(command, length: payload.size, isKept: options.state != nil))
            case nil: return nil
            }
        }
        resuming.checkpointIdentifier = checkpointIdentifier(resumable, payload, edition)
        return resuming
    }

    private func tusOptions(_ payload: Payload, _ options: Options) -> TusOptions {
        var tus = TusOptions()
        if case .file(let path) = payload { tus.metadata["filename"] = FilePath.name(path) }
        let type = Job.request(for: self, options).value(forHTTPHeaderField: "Content-Type")
        if let type, type != Platform.valueOfRemovedField { tus.metadata["filetype"] = type }
        return tus
    }

    private static func partURLs(_ path: String) throws(SourceFailure) -> PartURLs {
        do {
            return try PartURLs(json: try Data(contentsOf: FilePath.url(path)))
        } catch let failure as PartURLFailure {
            throw SourceFailure(label: path, error: UploadError(.bodyUnreadable, detail: failure.reason))
        } catch {
            let isMissing = !FileManager.default.fileExists(atPath: FilePath.url(path).path)
            throw SourceFailure(label: path, error: UploadError(isMissing ? .fileNotFound : .bodyUnreadable))
        }
    }

    /// What the upload's checkpoint is called, by which the tool knows it again; `nil` where there is no file: nobody
    /// could tell that the bytes are the same.
    ///
    /// Of a query there is only a hash in it: it may be a secret. That of a presigned URL is another one each time.
    private func checkpointIdentifier(_ resumable: Options.Resumable, _ payload: Payload, _ edition: String?) -> String?
    {
        guard case .file(let path) = payload, var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
            return nil
        }
        let query = resumable == .s3 ? nil : parts.percentEncodedQuery
        (parts.percentEncodedQuery, parts.fragment) = (nil, nil)
        let words = [resumable.rawValue, parts.string, query.map(Self.hash), edition]
        return (words.compactMap(\.self) + [FilePath.url(path).standardizedFileURL.path]).joined(separator: " ")
    }

    /// FNV-1a: `Hasher` has another result in each process.
    private static func hash(_ text: String) -> String {
        String(text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }, radix: 16)
    }
}

extension S3MultipartOptions {
    /// With URLs of which there are no others.
    init(_ urls: PartURLs, length: Int64?) {
        self.init(
            create: { urls.identifier },
            part: { _, number in try urls.part(number) },
            complete: { _ in URLRequest(url: urls.complete) },
            abort: urls.abort.map(Self.always),
            list: urls.list.map(Self.always)
        )
        partSize = length.map { PartPlan.size(length: $0, parts: urls.parts.count) }
    }

    private static func always(_ url: URL) -> @Sendable (String) async throws -> URLRequest {
        { _ in URLRequest(url: url) }
    }

    /// With URLs that a command prints.
    init(_ command: String, length: Int64?, isKept: Bool) {
        let plan = length.map(PartPlan.suitable)
        let urls = PartURLCommand(command, count: plan?.count ?? PartPlan.firstCount, needsList: isKept)
        self.init(
            create: { try await urls.create() },
            part: { try await urls.request(.part($1), of: $0) },
            complete: { try await urls.request(.complete, of: $0) },
            abort: { try await urls.request(.abort, of: $0) },
            list: { try await urls.request(.list, of: $0) }
        )
        partSize = plan?.size
    }
}
