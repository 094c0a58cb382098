import Foundation

/// The program of SeaweedFS, which speaks both tus and S3. It is large, so that nobody has to have it.
enum SeaweedFS {
    private static let environment = ProcessInfo.processInfo.environment

    /// Whether the environment says where it is.
    static let isNamed = environment["ASYNCUPLOAD_WEED"] != nil

    /// `nil` when it is not installed.
    static let program: Program? = {
        if let path = environment["ASYNCUPLOAD_WEED"] { return Program(path) }
        let folder = environment["ASYNCUPLOAD_PYTHON"].map { URL(fileURLWithPath: $0).deletingLastPathComponent() }
        return folder.flatMap { Program($0.appendingPathComponent("weed").path) } ?? Program("weed")
    }()

    static var isInstalled: Bool { program != nil }

    /// The one that uploads come to, and those by which its parts speak with each other.
    static let portCount = 8

    /// - Parameters:
    ///   - hasS3: whether uploads come by S3, or by tus.
    ///   - folder: takes the key that S3 is to know, and all that is stored.
    static func arguments(hasS3: Bool, _ ports: [UInt16], in folder: TemporaryFolder) throws -> [String] {
        try FileManager.default.createDirectory(at: folder.file("data"), withIntermediateDirectories: true)
        let signer = S3Signer()
        let key = #"{"accessKey": "\#(signer.keyIdentifier)", "secretKey": "\#(signer.secretKey)"}"#
        let user = #"{"name": "test", "actions": ["Admin", "Read", "Write", "List"], "credentials": [\#(key)]}"#
        try folder.write("s3.json", Data(#"{"identities": [\#(user)]}"#.utf8))
        let (filer, s3) = hasS3 ? (ports[7], ports[0]) : (ports[0], ports[7])
        // Otherwise it would take 10 s to find that it is alone when it is started again.
        let master = ["-master.electionTimeout=1s", "-master.telemetry=false", "-master.volumeSizeLimitMB=64"]
        let masterPorts = ["-master.port=\(ports[1])", "-master.port.grpc=\(ports[2])"]
        let volume = ["-volume.max=50", "-volume.port=\(ports[3])", "-volume.port.grpc=\(ports[4])"]
        let filerPorts = ["-filer.port=\(filer)", "-filer.port.grpc=\(ports[5])", "-filer.localSocket=filer.sock"]
        let arguments = ["server", "-ip=127.0.0.1", "-dir=data", "-filer"] + master + masterPorts + volume + filerPorts
        guard hasS3 else { return arguments }
        let s3Ports = ["-s3.port=\(s3)", "-s3.port.grpc=\(ports[6])", "-s3.port.iceberg=0", "-s3.port.lance=0"]
        return arguments + ["-s3", "-s3.config=s3.json", "-s3.localSocket=s3.sock"] + s3Ports
    }

    /// Whether there is room for a file: it answers earlier than that.
    static func canStore(_ ports: [UInt16]) -> Bool {
        (try? Loopback.get("/dir/assign", port: ports[1]))?.contains("\"fid\"") == true
    }

    /// Removes what it leaves behind in a folder that nobody can choose.
    static func removeSockets(_ ports: [UInt16]) {
        let folder = URL(fileURLWithPath: "/tmp")
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
        for name in names ?? [] where name.hasPrefix("seaweedfs-") {
            guard ports.contains(where: { name.hasSuffix("-grpc-\($0).sock") }) else { continue }
            try? FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        }
    }
}
