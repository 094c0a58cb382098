/// Numbers of libcurl's documented, stable interface.
enum CurlOption {
    static let writeData: CInt = 10001
    static let url: CInt = 10002
    static let proxy: CInt = 10004
    static let readData: CInt = 10009
    static let errorBuffer: CInt = 10010
    static let httpHeader: CInt = 10023
    static let clientCertificateFile: CInt = 10025
    static let privateKeyPassword: CInt = 10026
    static let headerData: CInt = 10029
    static let customRequest: CInt = 10036
    static let noBody: CInt = 44
    static let upload: CInt = 46
    static let verifyPeer: CInt = 64
    static let authoritiesFile: CInt = 10065
    static let freshConnection: CInt = 74
    static let forbidReuse: CInt = 75
    static let verifyHost: CInt = 81
    static let httpVersion: CInt = 84
    static let privateKeyFile: CInt = 10087
    static let authoritiesFolder: CInt = 10097
    static let noSignal: CInt = 99
    static let acceptEncoding: CInt = 10102
    static let connectionTimeout: CInt = 156
    static let socketData: CInt = 10149
    static let seekData: CInt = 10168
    static let noProxy: CInt = 10177
    static let protocols: CInt = 181
    static let closeSocketData: CInt = 10209
    static let pinnedPublicKeys: CInt = 10230
    static let suppressConnectHeaders: CInt = 265
    static let uploadBufferSize: CInt = 280
    static let authoritiesCacheTime: CInt = 321
    static let quickExit: CInt = 322
    static let prerequestData: CInt = 10313
    static let writeFunction: CInt = 20011
    static let readFunction: CInt = 20012
    static let headerFunction: CInt = 20079
    static let socketFunction: CInt = 20148
    static let seekFunction: CInt = 20167
    static let closeSocketFunction: CInt = 20208
    static let prerequestFunction: CInt = 20312
    static let bodyLength: CInt = 30115
    static let sendRate: CInt = 30145
    static let clientCertificateData: CInt = 40291
    static let privateKeyData: CInt = 40292
    static let authoritiesData: CInt = 40309

    /// Of a multi handle.
    enum Multi {
        static let cachedConnections: CInt = 6
    }

    /// What can be asked of a transfer.
    enum Information {
        static let primaryAddress: CInt = 0x10_0000 + 32
        static let primaryPort: CInt = 0x20_0000 + 40
        static let httpVersion: CInt = 0x20_0000 + 46
    }

    enum Value {
        /// HTTP/2 over TLS where the server offers it.
        static let http2OverTLS = 4
        static let httpAndHTTPS = 1 | 2
        /// That the server's certificate is for its host.
        static let hostMatches = 2
        /// A body whose length is not known.
        static let unknownLength: Int64 = -1
        /// What a read function returns to give the transfer up.
        static let abortReading = 0x1000_0000
        /// What a read function returns when there is nothing to read for now.
        static let pauseReading = 0x1000_0001
        /// Neither direction is paused.
        static let pauseNothing: CInt = 0
        /// The results of a transfer whose connection was lost before a response came, in sending, and in receiving.
        static let gotNothing: CInt = 52
        static let sendError: CInt = 55
        static let receiveError: CInt = 56
        /// What a seek function returns when it cannot.
        static let seekFailed: CInt = 1
        /// The room libcurl wants for the text of an error.
        static let errorBufferSize = 256
    }
}
