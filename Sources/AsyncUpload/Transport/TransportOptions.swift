/// What a transport is made with.
struct TransportOptions: Sendable {
    /// How many connections are kept for later use. How many are in use at a time is for ``AdmissionQueue`` to say.
    var idleConnectionLimit: Int
    /// In bytes per second.
    var limitRate: Int64?
    var tls = Uploader.TLSOptions()
    var proxy = Uploader.ProxyChoice.system

    /// What `URLSession` cannot do, in the words of the configuration; `nil` when it can do everything that is asked for.
    ///
    /// To ignore it would be to send what should not be sent, or to somebody who should not have it.
    var notSupportedByURLSession: String? {
        if limitRate != nil { return "URLSession has no limit for the rate" }
        if tls != Uploader.TLSOptions() { return "URLSession takes no TLS options" }
        if proxy != .system { return "URLSession takes no proxy but the system's" }
        return nil
    }
}
