import AsyncUpload

extension Options {
    /// The same in the words of the library. What the command line does not say stays as the library has it.
    var configuration: Uploader.Configuration {
        var configuration = Uploader.Configuration()
        configuration.maximumUploadsInFlight = parallel
        configuration.redirects = redirectLimit.map { .follow(limit: $0) } ?? .refuse
        switch transport {
        case .urlsession: configuration.transport = .urlSession
        case .curl: configuration.transport = .libcurl
        case nil: break
        }
        configuration.retry = .exponential(limit: retryLimit)
        configuration.retry.retriesAllMethods = retriesAllMethods
        configuration.limitRate = limitRate
        configuration.tls = tls
        if let timeout { configuration.timeoutIntervalForResource = timeout }
        if let stallTimeout { configuration.timeoutIntervalForRequest = stallTimeout }
        if let connectTimeout { configuration.timeoutIntervalForConnection = connectTimeout }
        return configuration
    }

    private var tls: Uploader.TLSOptions {
        var tls = Uploader.TLSOptions()
        tls.certificateAuthorities = authorities.map { .file(FilePath.url($0)) }
        tls.clientCertificate = certificate.map { .file(FilePath.url($0)) }
        tls.privateKey = privateKey.map { .file(FilePath.url($0)) }
        tls.trustsAnyServer = trustsAnyServer
        return tls
    }
}
