#if os(Linux)
    import CLibcurl
    import Foundation

    /// Tells a handle that has no options set what to send and how.
    struct CurlSetup {
        let easy: OpaquePointer
        let outgoing: OutgoingRequest
        let options: TransportOptions

        /// Sets everything but the functions that libcurl calls back and the fields of the header.
        ///
        /// - Throws: ``UploadError`` when this libcurl cannot do something that was asked for.
        func apply() throws {
            setRequest()
            setBody()
            clibcurl_set_long(easy, CurlOption.connectionTimeout, Self.milliseconds(outgoing.limits.connection))
            try setProxy()
            try setTrust()
            try setIdentity()
        }

        private func setRequest() {
            let method = outgoing.request.httpMethod ?? "GET"
            clibcurl_set_string(easy, CurlOption.url, outgoing.request.url?.absoluteString)
            clibcurl_set_string(easy, CurlOption.customRequest, method)
            clibcurl_set_long(easy, CurlOption.noSignal, 1)
            // What is given up while a name is looked up would otherwise be waited for, by all transfers (since 7.87).
            clibcurl_set_long(easy, CurlOption.quickExit, 1)
            clibcurl_set_long(easy, CurlOption.protocols, CurlOption.Value.httpAndHTTPS)
            clibcurl_set_long(easy, CurlOption.httpVersion, CurlOption.Value.http2OverTLS)
            clibcurl_set_long(easy, CurlOption.suppressConnectHeaders, 1)
            // Every coding that libcurl can decode.
            clibcurl_set_string(easy, CurlOption.acceptEncoding, "")
            if outgoing.body == nil, method == "HEAD" { clibcurl_set_long(easy, CurlOption.noBody, 1) }
            // A connection that was used before may turn out to be closed. What cannot be sent again never goes out on one.
            if !canRepeat { clibcurl_set_long(easy, CurlOption.freshConnection, 1) }
        }

        /// Whether libcurl may find out by itself that it has to begin anew, and is stopped if that is not allowed.
        private var canRepeat: Bool {
            switch outgoing.body {
            case .stream(let stream): stream.isReplayable
            // Without bytes there is no rewinding that could be refused.
            case let body: outgoing.request.isIdempotent || body?.length ?? 0 > 0
            }
        }

        private func setBody() {
            guard let body = outgoing.body else { return }
            clibcurl_set_long(easy, CurlOption.upload, 1)
            clibcurl_set_int64(easy, CurlOption.bodyLength, body.length ?? CurlOption.Value.unknownLength)
            clibcurl_set_long(easy, CurlOption.uploadBufferSize, uploadBufferSize(for: body.length ?? .max))
            if let rate = options.limitRate { clibcurl_set_int64(easy, CurlOption.sendRate, max(1, rate)) }
        }

        /// The size that libcurl is fastest with; no more than the body needs, since every handle has a buffer, and no more
        /// than is sent in a tenth of a second.
        private func uploadBufferSize(for length: Int64) -> Int {
            let wanted = min(256 << 10, length, options.limitRate.map { $0 / 10 } ?? .max)
            return Int(max(16 << 10, wanted))
        }

        private func setProxy() throws {
            switch options.proxy.kind {
            case .system: break
            case .direct: clibcurl_set_string(easy, CurlOption.proxy, "")
            case .proxy(let url):
                // libcurl would name it whole, with its password.
                guard ["http", "https", "socks5", "socks5h"].contains(url.scheme?.lowercased()), url.host != nil else {
                    throw UploadError(.optionNotSupported, detail: "the URL of the proxy")
                }
                try demand(clibcurl_set_string(easy, CurlOption.proxy, url.absoluteString), "this proxy")
                // What the environment excludes has nothing to do with it.
                clibcurl_set_string(easy, CurlOption.noProxy, "")
            }
        }

        private func setTrust() throws {
            let tls = options.tls
            if let authorities = tls.certificateAuthorities {
                try set(authorities, CurlOption.authoritiesFile, CurlOption.authoritiesData, "certificate authorities")
                // The system's.
                clibcurl_set_string(easy, CurlOption.authoritiesFolder, nil)
                // An authority that has been taken out of the file is not trusted for another day (since 7.87).
                clibcurl_set_long(easy, CurlOption.authoritiesCacheTime, 0)
            }
            if !tls.pinnedPublicKeys.isEmpty {
                let pins = try tls.pinnedPublicKeys.sorted().map(Self.pin).joined(separator: ";")
                try demand(clibcurl_set_string(easy, CurlOption.pinnedPublicKeys, pins), "pinned public keys")
            }
            clibcurl_set_long(easy, CurlOption.verifyPeer, tls.trustsAnyServer ? 0 : 1)
            clibcurl_set_long(easy, CurlOption.verifyHost, tls.trustsAnyServer ? 0 : CurlOption.Value.hostMatches)
        }

        private func setIdentity() throws {
            let tls = options.tls
            if tls.clientCertificate == nil, tls.privateKey != nil {
                throw UploadError(.invalidTLSOptions, detail: "a private key without a certificate")
            }
            if let certificate = tls.clientCertificate {
                let (file, data) = (CurlOption.clientCertificateFile, CurlOption.clientCertificateData)
                try set(certificate, file, data, "a client certificate")
            }
            if let key = tls.privateKey ?? tls.clientCertificate {
                try set(key, CurlOption.privateKeyFile, CurlOption.privateKeyData, "a private key")
                // Without any, OpenSSL asks at the terminal, and libcurl 7.88 traps when the key is data.
                clibcurl_set_string(easy, CurlOption.privateKeyPassword, tls.privateKeyPassword ?? "")
            }
        }

        private func set(_ pem: Uploader.TLSOptions.PEM, _ file: CInt, _ data: CInt, _ what: String) throws {
            switch pem.contents {
            case .file(let url):
                guard url.isFileURL else { throw UploadError(.invalidTLSOptions, detail: "\(url) is no file URL") }
                try demand(clibcurl_set_string(easy, file, url.path), what)
            case .data(let bytes):
                try bytes.withUnsafeBytes { try demand(clibcurl_set_blob(easy, data, $0.baseAddress, $0.count), what) }
            }
        }

        /// What somebody has asked for must not be left out in silence.
        private func demand(_ code: CInt, _ what: String) throws {
            guard code != 0 else { return }
            throw UploadError(.optionNotSupported, detail: "this libcurl takes no \(what)")
        }

        /// As libcurl wants it. Anything else would be taken for the name of a file.
        private static func pin(_ key: String) throws -> String {
            guard Data(base64Encoded: key)?.count == 32 else {
                throw UploadError(.invalidTLSOptions, detail: "\(key.debugDescription) is no SHA-256 hash in Base64")
            }
            return "sha256//\(key)"
        }

        /// Zero would stand for libcurl's own limit.
        private static func milliseconds(_ duration: Duration) -> Int {
            Int(min(max(1, duration / .milliseconds(1)), Double(Int32.max)))
        }
    }
#endif
