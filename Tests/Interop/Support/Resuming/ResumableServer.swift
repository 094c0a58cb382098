import AsyncUpload
import Foundation
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A server that speaks one of the resumable protocols, with what it keeps in a folder of its own.
final class ResumableServer: Sendable {
    enum Kind: String, CaseIterable, CustomTestStringConvertible {
        /// tus 1.0.0 with all extensions.
        case resumableUpload = "resumable-upload"
        /// tus 1.0.0, streaming.
        case tuspyserver
        /// Google Cloud Storage's sessions.
        case gcsEmulator = "gcp-storage-emulator"
        /// Amazon S3's multipart uploads. It checks no signature.
        case moto
        /// tus 1.0.0 into files of SeaweedFS.
        case seaweedTus = "SeaweedFS, tus"
        /// Amazon S3's multipart uploads. It checks signatures.
        case seaweedS3 = "SeaweedFS, S3"

        var testDescription: String { rawValue }

        var isTus: Bool { self == .resumableUpload || self == .tuspyserver || self == .seaweedTus }
        var isS3: Bool { self == .moto || self == .seaweedS3 }
        var isSeaweed: Bool { self == .seaweedTus || self == .seaweedS3 }

        /// Those that there are: SeaweedFS need not be.
        static let installed = allCases.filter { SeaweedFS.isInstalled || !$0.isSeaweed }
    }

    struct Failure: Error {
        let reason: String
    }

    let kind: Kind
    var port: UInt16 { ports[0] }
    /// Uploads come to the first one.
    private let ports: [UInt16]
    private let folder: TemporaryFolder
    private let process: ServerProcess

    /// Starts one and waits until it answers.
    init(_ kind: Kind) async throws {
        self.kind = kind
        folder = try TemporaryFolder()
        (ports, process) = try await Self.start(kind, in: folder)
        if kind.isS3 { _ = try await send("PUT", "/uploads") }
    }

    /// Starts again, at the same ports and with the same folder, a server that has ended.
    init(again server: ResumableServer) async throws {
        (kind, folder, ports) = (server.kind, server.folder, server.ports)
        let (program, arguments) = try Self.program(kind, ports, folder)
        process = try ServerProcess(program, arguments, in: folder)
        try await Self.waitForAnswer(of: process, kind, ports)
        guard process.isRunning else { throw Failure(reason: Self.output(in: folder)) }
    }

    /// Somebody else may take a port after it was found to be free.
    private static func start(_ kind: Kind, in folder: TemporaryFolder) async throws -> ([UInt16], ServerProcess) {
        for _ in 1...5 {
            let ports = try Loopback.freePorts(kind.isSeaweed ? SeaweedFS.portCount : 1)
            let (program, arguments) = try program(kind, ports, folder)
            let process = try ServerProcess(program, arguments, in: folder)
            try await waitForAnswer(of: process, kind, ports)
            if process.isRunning { return (ports, process) }
        }
        throw Failure(reason: output(in: folder))
    }

    private static func waitForAnswer(of process: ServerProcess, _ kind: Kind, _ ports: [UInt16]) async throws {
        try await eventually("no answer from the server", within: .seconds(60)) {
            guard process.isRunning else { return true }
            guard (try? Loopback.get("/", port: ports[0]))?.hasPrefix("HTTP/") == true else { return false }
            return !kind.isSeaweed || SeaweedFS.canStore(ports)
        }
    }

    private static func output(in folder: TemporaryFolder) -> String {
        (try? folder.read("output")).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    private static func program(
        _ kind: Kind,
        _ ports: [UInt16],
        _ folder: TemporaryFolder
    ) throws -> (program: Program, arguments: [String]) {
        let port = ports[0]
        guard let python, let env = Program("env") else { throw Failure(reason: "ASYNCUPLOAD_PYTHON names no program") }
        let at = ["--host", "127.0.0.1", "--port", "\(port)"]
        let scripts = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
        // Programs of Python's packages are beside it. -B, so that nothing is written where the script is.
        let programs = python.url.deletingLastPathComponent()
        func program(_ name: String) throws -> Program {
            guard let program = Program(programs.appendingPathComponent(name).path) else {
                throw Failure(reason: "\(name) is not installed")
            }
            return program
        }
        switch kind {
        case .resumableUpload:
            let places = ["--base-path", "/files", "--upload-dir", "files", "--db-path", "tus.db"]
            return (try program("resumable-upload"), ["serve", "--enable-downloads"] + at + places)
        case .tuspyserver:
            let variable = "TUS_FOLDER=\(folder.file("files").path)"
            let uvicorn = ["-m", "uvicorn", "--timeout-graceful-shutdown", "1", "--app-dir", scripts.path]
            return (env, [variable, python.url.path, "-B"] + uvicorn + ["tus_app:app"] + at)
        case .gcsEmulator:
            let bucket = ["--default-bucket", "uploads", "--in-memory"]
            return (try program("gcp-storage-emulator"), ["start"] + at + bucket)
        case .moto:
            return (try program("moto_server"), ["-H", "127.0.0.1", "-p", "\(port)"])
        case .seaweedTus, .seaweedS3:
            guard let program = SeaweedFS.program else { throw Failure(reason: "weed is not installed") }
            return (program, try SeaweedFS.arguments(hasS3: kind.isS3, ports, in: folder))
        }
    }

    /// Stops it, and waits until it has ended.
    func end() async {
        // It would take 15 s over that.
        guard !kind.isSeaweed else { return await crash() }
        await process.ended()
    }

    /// Stops it in the midst of whatever it does, and waits until it has ended.
    func crash() async {
        await process.crash()
        if kind.isSeaweed { SeaweedFS.removeSockets(ports) }
    }
}

// MARK: - What is there

extension ResumableServer {
    private static let python = ProcessInfo.processInfo.environment["ASYNCUPLOAD_PYTHON"].flatMap(Program.init)

    private static let check = Task {
        guard let python else { return false }
        // Looked for only: to load all of them takes seconds.
        let script = """
            import importlib.util, sys
            names = "resumable_upload", "tuspyserver", "uvicorn", "gcp_storage_emulator", "moto", "flask_cors"
            sys.exit(any(importlib.util.find_spec(name) is None for name in names))
            """
        return try await python.run(["-B", "-c", script], in: TemporaryFolder()).status == 0
    }

    /// Whether there is everything to start one of each kind, and TLS in front of it.
    static var isInstalled: Bool {
        get async { (try? await check.value) == true && NginxServer.isInstalled }
    }

    /// The bytes that the server has of an upload that is complete.
    ///
    /// - Parameters:
    ///   - name: of the object, where objects have names.
    ///   - url: of the upload, where it is that which has a name.
    func stored(_ name: String, _ url: URL?) async throws -> Data {
        switch kind {
        case .resumableUpload: return try await send("GET", "/files/" + #require(url?.lastPathComponent))
        // It gives nothing back.
        case .tuspyserver: return try folder.read("files/" + #require(url?.lastPathComponent))
        case .gcsEmulator: return try await send("GET", "/download/storage/v1/b/uploads/o/\(name)?alt=media")
        case .moto, .seaweedTus, .seaweedS3: return try await send("GET", "/uploads/\(name)")
        }
    }

    /// What S3 calls an upload that is begun so.
    func createMultipartUpload(_ name: String) async throws -> String {
        let answer = String(decoding: try await send("POST", "/uploads/\(name)?uploads"), as: UTF8.self)
        return try String(#require(answer.firstMatch(of: /<UploadId>(.+?)<\/UploadId>/)?.1))
    }

    /// Asks the server itself, without anything in between.
    private func send(_ method: String, _ path: String) async throws -> Data {
        let url = try #require(URL(string: "http://127.0.0.1:\(port)\(path)"))
        var request = URLRequest(url: kind.isS3 ? try S3Signer().presigned(method, url) : url)
        request.httpMethod = method
        let (data, response) = try await URLSession.shared.data(for: request)
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard (200..<300).contains(status) else { throw Failure(reason: "\(method) \(path): \(status)") }
        return data
    }
}
