#if os(Linux)
    import CLibcurl
    import Foundation

    /// The thread that runs libcurl's transfers, as the executor of the actor that owns them.
    ///
    /// libcurl calls back from inside its functions, which are only called on this thread, so its callbacks are in the
    /// actor's isolation when they arrive.
    final class CurlExecutor: SerialExecutor {
        private struct State {
            var jobs: [UnownedJob] = []
            var calls: [@Sendable (isolated CurlSession) -> Void] = []
            var isStopping = false
            var hasEnded = false
            var thread: pthread_t?
        }

        // A pointer is not Sendable: this one is only used on the thread, but for waking it up, which libcurl allows
        // from anywhere, and which happens inside `state` and never after the end.
        nonisolated(unsafe) let multi: OpaquePointer
        private let state = Locked(State())

        /// Opens when the thread has let go of everything.
        let ended = Gate()

        /// - Returns: `nil` when libcurl is not to be had.
        init?() {
            guard clibcurl_load(), let multi = clibcurl_multi_init() else { return nil }
            self.multi = multi
        }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            let isLate = state.withLock { state in
                guard !state.hasEnded else { return true }
                state.jobs.append(job)
                if state.jobs.count == 1 { clibcurl_multi_wakeup(multi) }
                return false
            }
            // Nothing but such jobs touches the actor any more; there is no transfer left that one could be about.
            if isLate { job.runSynchronously(on: asUnownedSerialExecutor()) }
        }

        /// Has the thread call a closure soon. That costs less than a task.
        ///
        /// - Returns: `false` when the thread has ended; the closure is not called then.
        @discardableResult
        func perform(_ call: @escaping @Sendable (isolated CurlSession) -> Void) -> Bool {
            state.withLock { state in
                guard !state.hasEnded else { return false }
                state.calls.append(call)
                if state.calls.count == 1 { clibcurl_multi_wakeup(multi) }
                return true
            }
        }

        func checkIsolated() {
            let isOurs = state.withLock { state in
                state.hasEnded || state.thread.map { pthread_equal($0, pthread_self()) != 0 } == true
            }
            precondition(isOurs, "not on the thread of the transfers")
        }

        /// Starts the thread. It holds the session until it is stopped.
        func start(_ session: CurlSession) {
            let thread = Thread { self.run(session) }
            thread.name = "AsyncUpload.CurlSession"
            thread.start()
        }

        /// Has the thread end what is under way and close every connection. Idempotent.
        func stop() {
            state.withLock { state in
                state.isStopping = true
                if !state.hasEnded { clibcurl_multi_wakeup(multi) }
            }
        }

        /// libcurl is told to leave signals alone, and its TLS library may write to a connection that is gone. That is then
        /// an error like any other and not the end of the process.
        private static func blockBrokenPipes() {
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &signals, nil)
        }

        private func run(_ session: CurlSession) {
            state.withLock { $0.thread = pthread_self() }
            Self.blockBrokenPipes()
            while runWhatWaits(session) {
                let timeout = session.assumeIsolated { $0.turn() }
                clibcurl_multi_poll(multi, state.withLock { $0.jobs.isEmpty && $0.calls.isEmpty } ? timeout : 0)
            }
            session.assumeIsolated { $0.close() }
            let (lateJobs, lateCalls) = state.withLock { state in
                state.hasEnded = true
                clibcurl_multi_cleanup(multi)
                defer { (state.jobs, state.calls) = ([], []) }
                return (state.jobs, state.calls)
            }
            for job in lateJobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
            for call in lateCalls { session.assumeIsolated(call) }
            ended.open()
        }

        /// A function of its own, so that nothing which a call holds is held while the thread waits.
        ///
        /// - Returns: whether there is more to come.
        private func runWhatWaits(_ session: CurlSession) -> Bool {
            let (jobs, calls, isStopping) = state.withLock { state in
                defer { (state.jobs, state.calls) = ([], []) }
                return (state.jobs, state.calls, state.isStopping)
            }
            for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
            for call in calls { session.assumeIsolated(call) }
            return !(isStopping && jobs.isEmpty)
        }
    }
#endif
