#if os(Linux)
    import CLibcurl
    import Foundation

    /// One transfer: what libcurl is told of it, and what its callbacks do.
    final class CurlExchange: @unchecked Sendable {
        // Everything in it is only touched on the thread of its session, where libcurl calls back, too.

        let easy: OpaquePointer
        let ended: Gate
        private let outgoing: OutgoingRequest
        private let continuation: TransferEvents.Continuation
        private let sockets: CurlSockets
        private let onReadable: @Sendable (CurlExchange) -> Void
        private let onEvents: (CurlExchange) -> Void
        private var untold: [TransferEvent] = []
        private var machine: TransferMachine
        private var parser: ResponseHeadParser
        private var position: Int64 = 0
        private var pipe: BodyPipe?
        /// Whether anything of a response has come, be it a part of a head.
        private var hasHeard = false
        /// What tells the connection from all others of this process.
        private var localPort: CInt = 0
        /// -1 as long as there is none, or as it is unknown.
        private var socket: CInt = -1
        /// The connection on which the transfer went before it was begun anew.
        private var formerConnection: ConnectionFacts?
        private var headerFields: OpaquePointer?
        private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: CurlOption.Value.errorBufferSize)

        /// - Parameters:
        ///   - easy: a handle that ``CurlSetup`` has told what to do.
        ///   - onEvents: called when there is something to ``flush()``.
        ///   - onReadable: called, on any thread, when the transfer was told to wait for its body and can go on.
        init(
            _ easy: OpaquePointer,
            _ outgoing: OutgoingRequest,
            _ continuation: TransferEvents.Continuation,
            _ ended: Gate,
            _ sockets: CurlSockets,
            onEvents: @escaping (CurlExchange) -> Void,
            onReadable: @escaping @Sendable (CurlExchange) -> Void
        ) {
            self.easy = easy
            self.outgoing = outgoing
            self.continuation = continuation
            self.ended = ended
            self.sockets = sockets
            self.onEvents = onEvents
            self.onReadable = onReadable
            machine = TransferMachine(outgoing, at: .now)
            parser = ResponseHeadParser(url: outgoing.request.url)
            errorText.initialize(repeating: 0, count: CurlOption.Value.errorBufferSize)
            setHeaderFields(outgoing.request)
            setFunctions()
        }

        deinit {
            errorText.deallocate()
        }

        var checkInterval: Duration { outgoing.limits.checkInterval }

        /// Whether something has taken too long; that is then the reason of the end.
        func isOverdue(at now: TransferMachine.Instant) -> Bool {
            var unacknowledged: CInt = 0
            if socket >= 0, ioctl(socket, UInt(TIOCOUTQ), &unacknowledged) == 0 {
                machine.didSee(unacknowledged: Int(unacknowledged), at: now)
            }
            return !apply(machine.didPass(now))
        }

        /// Takes in an answer that libcurl has not read, as far as it is there. Through TLS nothing can be told.
        func hear() {
            guard !machine.hasReceived, let words = sockets.fromConnection(atLocalPort: localPort),
                outgoing.request.url?.scheme?.lowercased() == "http"
            else { return }
            var rest = words[...]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = rest[...end]
                rest = rest[(end + 1)...]
                guard let head = line.withUnsafeBytes({ parser.parse($0) }) else { continue }
                hasHeard = true
                guard apply(machine.didReceive(head, at: .now)) else { return }
                guard head.statusCode >= 200 else { continue }
                // Another coding than none would have to be undone.
                let isPlain = ["Transfer-Encoding", "Content-Encoding"].allSatisfy {
                    head.headers[$0] == nil
                }
                if isPlain, !rest.isEmpty { _ = apply(machine.didReceive(Data(rest), at: .now)) }
                return
            }
        }

        /// Whether the transfer may be begun anew, after it has failed.
        ///
        /// That is so when the server has closed a connection that was used before, at the moment in which it was used
        /// again. libcurl deals with that itself where it notices in reading, but not in sending.
        ///
        /// - Parameter code: libcurl's result.
        func canBeginAnew(after code: CInt) -> Bool {
            let losses = [CurlOption.Value.gotNothing, CurlOption.Value.sendError, CurlOption.Value.receiveError]
            guard losses.contains(code), !hasHeard, machine.hasNoReason else { return false }
            guard outgoing.request.isIdempotent, clibcurl_was_connection_reused(easy) else { return false }
            if case .stream(let stream) = outgoing.body { return stream.isReplayable }
            return true
        }

        /// Has the transfer begin anew, on a connection of its own, when it is added again.
        func beginAnew() {
            _ = seek(to: 0)
            formerConnection = ConnectionFacts(easy)
            (localPort, socket) = (0, -1)
            _ = apply(machine.didBeginAnew(at: .now))
            clibcurl_set_long(easy, CurlOption.freshConnection, 1)
        }

        /// `POLLRDHUP`, which is hidden from Swift.
        private static let peerHasClosed: Int16 = 0x2000

        /// Whether there is nobody to send to any more. libcurl does not look while it waits for more of the body.
        var isClosedByPeer: Bool {
            guard machine.isWaitingForBody, socket >= 0 else { return false }
            var request = pollfd(fd: socket, events: Self.peerHasClosed, revents: 0)
            return poll(&request, 1, 0) == 1 && request.revents & Self.peerHasClosed != 0
        }

        /// Notes a reason of our own for the end that follows.
        func fail(_ error: any Error) {
            _ = machine.fail(error)
        }

        /// Has the connection closed with the transfer, unless others are on it.
        ///
        /// From 7.88 to 8.14 libcurl tells the server that a stream of HTTP/2 was given up only when the connection is used
        /// again; until then the server would wait for the rest.
        func closeConnection() {
            clibcurl_set_long(easy, CurlOption.forbidReuse, 1)
        }

        /// The transfer is over. The handle is as new afterwards.
        ///
        /// - Parameter code: libcurl's result.
        func end(_ code: CInt) {
            let text = String(cString: errorText)
            let reason = text.isEmpty ? String(cString: clibcurl_easy_strerror(code)) : text
            let failure = code == 0 ? nil : CurlErrorTranslation.uploadError(code: code, reason: reason)
            let connection = ConnectionFacts(easy) ?? formerConnection
            clibcurl_easy_reset(easy)
            clibcurl_list_free(headerFields)
            headerFields = nil
            pipe?.cancel()
            pipe = nil
            let effects = machine.didComplete(failure, lastHead: nil)
            tell(effects.events)
            if let connection { tell([.connection(connection)]) }
            // Before the end is told: who hears of it need not wait once more.
            ended.open()
            flush()
            continuation.finish(throwing: effects.error)
        }

        /// Tells what has happened, once libcurl has no more to do for now.
        func flush() {
            guard !untold.isEmpty else { return }
            continuation.yield(untold)
            untold = []
        }

        private func tell(_ events: [TransferEvent]) {
            guard !events.isEmpty else { return }
            if untold.isEmpty { onEvents(self) }
            untold += events
        }

        // MARK: Options

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
            clibcurl_set_pointer(easy, CurlOption.prerequestData, context)
            let code = clibcurl_set_prerequest_function(easy, CurlOption.prerequestFunction) { context, _, _, _, port in
                CurlExchange.from(context)?.didConnect(atLocalPort: port)
                return 0
            }
            // It came with 7.80.
            machine.reportsConnections = code == 0
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

        private func didConnect(atLocalPort port: CInt) {
            localPort = port
            socket = sockets.socket(atLocalPort: port)
            if socket >= 0, outgoing.body != nil { sockets.cork(socket) }
            machine.didConnect(at: .now)
        }

        private func read(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
            do {
                switch outgoing.body {
                case nil: return 0
                case .source(let source): return handedOver(try source.read(into: buffer, at: position))
                case .stream(let stream): return try read(stream, into: buffer)
                }
            } catch {
                _ = machine.fail(error)
                closeConnection()
                return CurlOption.Value.abortReading
            }
        }

        /// The stream is started when its first bytes are wanted: if there is no connection it is still whole.
        private func read(_ stream: BodyStream, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            let pipe = try self.pipe ?? stream.start { [weak self] in self.map { $0.onReadable($0) } }
            self.pipe = pipe
            switch pipe.read(into: buffer) {
            case .bytes(let count): return handedOver(count)
            case .end:
                _ = apply(machine.didSendAll(at: .now))
                return 0
            case .nothingYet:
                _ = apply(machine.didRunOutOfBody(at: .now))
                return CurlOption.Value.pauseReading
            case .failure(let error): throw error
            }
        }

        private func handedOver(_ count: Int) -> Int {
            position += Int64(count)
            _ = apply(machine.didSend(position, at: .now))
            return count
        }

        /// There is something to read again.
        func resume() {
            clibcurl_easy_pause(easy, CurlOption.Value.pauseNothing)
        }

        /// libcurl rewinds when it is about to send the request again by itself, after a connection that it had used
        /// before turned out to be closed.
        private func seek(to offset: Int64) -> CInt {
            guard offset >= position || outgoing.request.isIdempotent else {
                _ = machine.fail(UploadError.lostAfterSending)
                return CurlOption.Value.seekFailed
            }
            if case .stream = outgoing.body, offset != position {
                guard offset == 0 else { return CurlOption.Value.seekFailed }
                pipe?.cancel()
                pipe = nil
            }
            position = offset
            return 0
        }

        /// - Returns: the count of bytes when the transfer is to go on, as libcurl wants it.
        private func readHead(_ line: UnsafeRawBufferPointer) -> Int {
            hasHeard = true
            let head = parser.parse(line)
            guard !parser.isTooLarge else {
                _ = machine.fail(UploadError(.responseUnreadable, detail: "its head is too large"))
                return 0
            }
            guard let head else { return line.count }
            if mayBeClosed(after: head) { closeConnection() }
            // libcurl stops sending after a refusal, but goes on waiting for the body that it was told to wait for.
            if machine.isWaitingForBody { onReadable(self) }
            return apply(machine.didReceive(head, at: .now)) ? line.count : 0
        }

        /// A server that refuses or redirects a body before it has read it reads a little more of it, 64 KiB perhaps, and then
        /// closes: what goes out on the same connection next would be lost with it.
        private func mayBeClosed(after head: ResponseHead) -> Bool {
            head.statusCode >= 300 && outgoing.body.map { $0.length ?? .max > 32 << 10 } ?? false
        }

        private func receive(_ data: UnsafeRawBufferPointer) -> Int {
            apply(machine.didReceive(Data(data), at: .now)) ? data.count : 0
        }

        /// - Returns: whether the transfer goes on.
        private func apply(_ effects: TransferMachine.Effects) -> Bool {
            tell(effects.events)
            if effects.stops { closeConnection() }
            return !effects.stops
        }
    }
#endif
