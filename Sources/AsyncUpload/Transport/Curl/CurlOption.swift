/// Numbers of libcurl's documented, stable interface.
enum CurlOption {
    static let writeData: CInt = 10001
    static let url: CInt = 10002
    static let readData: CInt = 10009
    static let errorBuffer: CInt = 10010
    static let httpHeader: CInt = 10023
    static let headerData: CInt = 10029
    static let customRequest: CInt = 10036
    static let noBody: CInt = 44
    static let upload: CInt = 46
    static let freshConnection: CInt = 74
    static let httpVersion: CInt = 84
    static let noSignal: CInt = 99
    static let acceptEncoding: CInt = 10102
    static let seekData: CInt = 10168
    static let protocols: CInt = 181
    static let suppressConnectHeaders: CInt = 265
    static let uploadBufferSize: CInt = 280
    static let writeFunction: CInt = 20011
    static let readFunction: CInt = 20012
    static let headerFunction: CInt = 20079
    static let seekFunction: CInt = 20167
    static let bodyLength: CInt = 30115

    /// Of a multi handle.
    enum Multi {
        static let cachedConnections: CInt = 6
        static let connectionsPerHost: CInt = 7
    }

    enum Value {
        /// HTTP/2 over TLS where the server offers it.
        static let http2OverTLS = 4
        static let httpAndHTTPS = 1 | 2
        /// What a read function returns to give the transfer up.
        static let abortReading = 0x1000_0000
        /// What a seek function returns when it cannot.
        static let seekFailed: CInt = 1
        /// The room libcurl wants for the text of an error.
        static let errorBufferSize = 256
    }
}
