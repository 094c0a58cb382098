import Foundation

/// Certificates and keys in PEM form, made by openssl anew for each run of the tests.
struct Certificates: Sendable {
    /// What there is; the name is that of a file.
    enum Name: String, CaseIterable {
        /// The authority that has signed the others.
        case authority = "authority.pem"
        /// An authority that has signed nothing.
        case stranger = "stranger.pem"
        case strangerKey = "stranger.key"
        /// For localhost and 127.0.0.1.
        case server = "server.pem"
        case serverKey = "server.key"
        /// The same, for a time that has gone by.
        case expired = "expired.pem"
        case expiredKey = "expired.key"
        /// For other.test.
        case other = "other.pem"
        case otherKey = "other.key"
        /// For a client.
        case client = "client.pem"
        case clientKey = "client.key"
        /// ``clientKey``, encrypted with ``password``.
        case encryptedClientKey = "encrypted.key"
    }

    static let shared = Task { try await Certificates() }
    static let password = "open sesame"

    private let files: [Name: Data]
    /// The SHA-256 hash of the server's public key, in Base64.
    let pin: String

    subscript(name: Name) -> Data { files[name] ?? Data() }

    private init() async throws {
        let maker = try CertificateMaker()
        try await maker.makeAuthority("authority")
        try await maker.makeAuthority("stranger")
        let hosts = "subjectAltName=DNS:localhost,IP:127.0.0.1"
        try await maker.makeCertificate("server", for: hosts)
        try await maker.makeCertificate("expired", for: hosts, from: "20200101000000Z", to: "20200201000000Z")
        try await maker.makeCertificate("other", for: "subjectAltName=DNS:other.test")
        try await maker.makeCertificate("client", for: "extendedKeyUsage=clientAuth")
        try await maker.encrypt("client.key", to: "encrypted.key", with: Self.password)
        pin = try await maker.hashOfPublicKey("server.key").base64EncodedString()
        files = try Dictionary(uniqueKeysWithValues: Name.allCases.map { ($0, try maker.folder.read($0.rawValue)) })
    }
}

/// Has openssl make certificates in a folder.
private struct CertificateMaker {
    struct Failure: Error {
        let reason: String
    }

    let folder: TemporaryFolder
    private let openssl: Program

    init() throws {
        folder = try TemporaryFolder()
        guard let openssl = Program("openssl") else { throw Failure(reason: "openssl is not installed") }
        self.openssl = openssl
        let configuration = """
            [ca]
            default_ca = authority
            [authority]
            database = database
            new_certs_dir = .
            rand_serial = yes
            default_md = sha256
            default_days = 2
            policy = policy
            [policy]
            commonName = supplied
            """
        try folder.write("openssl.conf", Data(configuration.utf8))
        try folder.write("database", Data())
    }

    func makeAuthority(_ name: String) async throws {
        try await run(
            "req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 2 -subj /CN=\(name)"
                + " -addext basicConstraints=critical,CA:TRUE -keyout \(name).key -out \(name).pem"
        )
    }

    /// - Parameters:
    ///   - extensions: whom it is for.
    ///   - start: when it begins to be valid; now unless given.
    func makeCertificate(
        _ name: String,
        for extensions: String,
        from start: String? = nil,
        to end: String? = nil
    ) async throws {
        try folder.write("extensions", Data(extensions.utf8))
        try await run(
            "req -new -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -subj /CN=\(name)"
                + " -keyout \(name).key -out request"
        )
        try await run(
            "ca -batch -notext -config openssl.conf -cert authority.pem -keyfile authority.key -extfile extensions"
                + (start.map { " -startdate \($0)" } ?? "") + (end.map { " -enddate \($0)" } ?? "")
                + " -in request -out \(name).pem"
        )
    }

    func encrypt(_ key: String, to name: String, with password: String) async throws {
        try folder.write("password", Data(password.utf8))
        try await run("pkcs8 -topk8 -v2 aes-256-cbc -passout file:password -in \(key) -out \(name)")
    }

    func hashOfPublicKey(_ key: String) async throws -> Data {
        try await run("pkey -in \(key) -pubout -outform der -out public")
        try await run("dgst -sha256 -binary -out hash public")
        return try folder.read("hash")
    }

    private func run(_ arguments: String) async throws {
        let (status, output) = try await openssl.run(arguments.split(separator: " ").map(String.init), in: folder)
        guard status == 0 else { throw Failure(reason: "openssl \(arguments): \(output)") }
    }
}
