/// Stands for a transport that was asked for and is not there: fails whatever it is given.
struct UnavailableTransport: Transport {
    let name: String

    let countsExactly = true

    func send(_ outgoing: OutgoingRequest) async throws -> Transfer {
        throw UploadError(.transportUnavailable, detail: name)
    }

    func shutDown() async {}
}
