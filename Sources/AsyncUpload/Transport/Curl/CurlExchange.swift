#if os(Linux)
    import CLibcurl
    import Foundation

    /// One transfer: what libcurl is told of it, and what its callbacks do.
    final class CurlExchange: @unchecked Sendable {
        // Everything in it is only touched on the thread of its session, where libcurl calls back, too.

        let easy: OpaquePointer
        let ended = Gate()
        private let outgoing: OutgoingRequest
        private let continuation: AsyncThrowingStream<TransferEvent, any Error>.Continuation
        private var machine: TransferMachine
        private var parser: ResponseHeadParser
        private var position: Int64 = 0
        private var headerFields: OpaquePointer?
        private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: CurlOption.Value.errorBufferSize)

        /// Prepares a handle that has no options set.
        init(
            _ easy: OpaquePointer,
            _ outgoing: OutgoingRequest,
            _ continuation: AsyncThrowingStream<TransferEvent, any Error>.Continuation
        ) {
            self.easy = easy
            self.outgoing = outgoing
            self.continuation = continuation
            machine = TransferMachine(
                bodyLength: outgoing.body?.length ?? 0,
                responseBodyLimit: outgoing.responseBodyLimit,
                method: outgoing.request.httpMethod,
                idleLimit: outgoing.idleLimit,
                at: .now
            )
            parser = ResponseHeadParser(url: outgoing.request.url ?? URL(fileURLWithPath: "/"))
            errorText.initialize(repeating: 0, count: CurlOption.Value.errorBufferSize)
            setRequest()
            setFunctions()
        }

        deinit {
            errorText.deallocate()
        }

        var idleLimit: Duration { outgoing.idleLimit }

        /// Whether nothing has moved for too long; that is then the reason of the end.
        func isIdle(at now: ContinuousClock.Instant) -> Bool {
            machine.didPass(now).stops
        }

        /// Notes a reason of our own for the end that follows.
        func fail(_ error: any Error) {
            _ = machine.fail(error)
        }

        /// The transfer is over. The handle is as new afterwards.
        ///
        /// - Parameter code: libcurl's result.
        func end(_ code: CInt) {
            let text = String(cString: errorText)
            let reason = text.isEmpty ? String(cString: clibcurl_easy_strerror(code)) : text
            let failure = code == 0 ? nil : CurlErrorTranslation.uploadError(code: code, reason: reason)
            clibcurl_easy_reset(easy)
            clibcurl_list_free(headerFields)
            headerFields = nil
            let effects = machine.didComplete(failure, lastHead: nil)
            for event in effects.events { continuation.yield(event) }
            continuation.finish(throwing: effects.error)
            ended.open()
        }

        // MARK: Options

        private func setRequest() {
            let request = outgoing.request
            let method = request.httpMethod ?? "GET"
            clibcurl_set_string(easy, CurlOption.url, request.url?.absoluteString)
            clibcurl_set_string(easy, CurlOption.customRequest, method)
            clibcurl_set_long(easy, CurlOption.noSignal, 1)
            clibcurl_set_long(easy, CurlOption.protocols, CurlOption.Value.httpAndHTTPS)
            clibcurl_set_long(easy, CurlOption.httpVersion, CurlOption.Value.http2OverTLS)
            clibcurl_set_long(easy, CurlOption.suppressConnectHeaders, 1)
            // Every coding that libcurl can decode.
            clibcurl_set_string(easy, CurlOption.acceptEncoding, "")
            if let body = outgoing.body {
                clibcurl_set_long(easy, CurlOption.upload, 1)
                clibcurl_set_int64(easy, CurlOption.bodyLength, body.length)
                clibcurl_set_long(easy, CurlOption.uploadBufferSize, Self.uploadBufferSize(for: body.length))
            } else if method == "HEAD" {
                clibcurl_set_long(easy, CurlOption.noBody, 1)
            }
            // Without a body there is no rewinding that could be refused.
            if !request.isIdempotent, outgoing.body?.length ?? 0 == 0 {
                clibcurl_set_long(easy, CurlOption.freshConnection, 1)
            }
            setHeaderFields(request)
        }

        /// The size that libcurl is fastest with; no more than the body needs, since every handle has a buffer.
        private static func uploadBufferSize(for length: Int64) -> Int {
            Int(max(16 << 10, min(256 << 10, length)))
        }

        private func setHeaderFields(_ request: URLRequest) {
            var lines = request.value(forHTTPHeaderField: "Expect") == nil ? ["Expect:"] : []
            for (name, value) in request.allHTTPHeaderFields ?? [:] {
                // The body's length is an option of its own.
                if name.lowercased() == "content-length" { continue }
                // With a colon and nothing behind it a field is left out, with a semicolon it is sent empty.
                lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
            }
            for line in lines {
                guard let list = clibcurl_list_append(headerFields, line) else { continue }
                headerFields = list
            }
            clibcurl_set_list(easy, CurlOption.httpHeader, headerFields)
        }

        private func setFunctions() {
            let context = Unmanaged.passUnretained(self).toOpaque()
            clibcurl_set_pointer(easy, CurlOption.errorBuffer, errorText)
            clibcurl_set_pointer(easy, CurlOption.readData, context)
            clibcurl_set_transfer_function(easy, CurlOption.readFunction) { buffer, size, count, context in
                CurlExchange.from(context)?.read(UnsafeMutableRawBufferPointer(start: buffer, count: size * count)) ?? 0
            }
            clibcurl_set_pointer(easy, CurlOption.seekData, context)
            clibcurl_set_seek_function(easy, CurlOption.seekFunction) { context, offset, _ in
                CurlExchange.from(context)?.seek(to: offset) ?? CurlOption.Value.seekFailed
            }
            clibcurl_set_pointer(easy, CurlOption.headerData, context)
            clibcurl_set_transfer_function(easy, CurlOption.headerFunction) { buffer, size, count, context in
                CurlExchange.from(context)?.readHead(UnsafeRawBufferPointer(start: buffer, count: size * count)) ?? 0
            }
            clibcurl_set_pointer(easy, CurlOption.writeData, context)
            clibcurl_set_transfer_function(easy, CurlOption.writeFunction) { buffer, size, count, context in
                CurlExchange.from(context)?.receive(UnsafeRawBufferPointer(start: buffer, count: size * count)) ?? 0
            }
        }

        // MARK: Callbacks

        /// The session holds the exchange for as long as libcurl has the handle.
        private static func from(_ context: UnsafeMutableRawPointer?) -> CurlExchange? {
            context.map { Unmanaged<CurlExchange>.fromOpaque($0).takeUnretainedValue() }
        }

        private func read(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
            guard let body = outgoing.body else { return 0 }
            do {
                let count = try body.read(into: buffer, at: position)
                position += Int64(count)
                _ = apply(machine.didSend(position, at: .now))
                return count
            } catch {
                _ = machine.fail(error)
                return CurlOption.Value.abortReading
            }
        }

        /// libcurl rewinds when it is about to send the request again by itself, after a connection that it had used
        /// before turned out to be closed.
        private func seek(to offset: Int64) -> CInt {
            guard offset >= position || outgoing.request.isIdempotent else {
                _ = machine.fail(UploadError.lostAfterSending)
                return CurlOption.Value.seekFailed
            }
            position = offset
            return 0
        }

        /// - Returns: the count of bytes when the transfer is to go on, as libcurl wants it.
        private func readHead(_ line: UnsafeRawBufferPointer) -> Int {
            guard let head = parser.parse(line) else { return line.count }
            return apply(machine.didReceive(head, at: .now)) ? line.count : 0
        }

        private func receive(_ data: UnsafeRawBufferPointer) -> Int {
            apply(machine.didReceive(Data(data), at: .now)) ? data.count : 0
        }

        /// - Returns: whether the transfer goes on.
        private func apply(_ effects: TransferMachine.Effects) -> Bool {
            for event in effects.events { continuation.yield(event) }
            return !effects.stops
        }
    }
#endif
