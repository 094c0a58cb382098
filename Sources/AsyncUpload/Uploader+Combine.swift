#if canImport(Combine)
    public import Combine
    public import Foundation

    extension Uploader {
        /// Uploads a body for each subscriber, and publishes the events of the upload.
        ///
        /// An upload starts when a subscriber first asks for events. One that asks for few misses progress in between, and
        /// always gets the response. Cancelling the subscription stops the upload. Failures are ``UploadError`` or
        /// `CancellationError`. Values arrive on a thread of the system's.
        public func publisher(for request: URLRequest, from body: UploadBody) -> AnyPublisher<UploadEvent, any Error> {
            UploadPublisher(uploader: self, request: request, body: body).eraseToAnyPublisher()
        }
    }

    private struct UploadPublisher: Publisher {
        typealias Output = UploadEvent
        typealias Failure = any Error

        let uploader: Uploader
        let request: URLRequest
        let body: UploadBody

        func receive<S: Subscriber>(subscriber: S) where S.Input == UploadEvent, S.Failure == any Error {
            let receiver = UploadSubscription.Receiver(
                receive: { subscriber.receive($0) },
                complete: { subscriber.receive(completion: $0) }
            )
            subscriber.receive(subscription: UploadSubscription(self, receiver))
        }
    }

    /// One subscriber's upload: a task reads the events, and waits with each until there is demand for it.
    // `lock` protects `state`; the subscriber is only called by the task, one call after the other.
    private final class UploadSubscription: Subscription, @unchecked Sendable {
        /// A subscriber of whatever type, which a task could not hold.
        struct Receiver {
            let receive: (UploadEvent) -> Subscribers.Demand
            let complete: (Subscribers.Completion<any Error>) -> Void
        }

        private struct State {
            var demand = Subscribers.Demand.none
            var receiver: Receiver?
            var work: Task<Void, Never>?
            var waiting: CheckedContinuation<Void, Never>?
        }

        private let publisher: UploadPublisher
        private let lock = NSLock()
        private var state = State()

        init(_ publisher: UploadPublisher, _ receiver: Receiver) {
            self.publisher = publisher
            state.receiver = receiver
        }

        func request(_ demand: Subscribers.Demand) {
            let waiting: CheckedContinuation<Void, Never>? = lock.withLock {
                guard state.receiver != nil else { return nil }
                state.demand += demand
                if state.work == nil, state.demand > 0 { state.work = Task { await self.run() } }
                guard state.demand > 0 else { return nil }
                defer { state.waiting = nil }
                return state.waiting
            }
            waiting?.resume()
        }

        func cancel() {
            let before = lock.withLock {
                defer { state = State() }
                return state
            }
            before.work?.cancel()
            before.waiting?.resume()
        }

        private func run() async {
            do {
                for try await event in publisher.uploader.upload(for: publisher.request, from: publisher.body) {
                    await waitForDemand()
                    guard let receiver = takeDemand() else { return }
                    let more = receiver.receive(event)
                    lock.withLock { state.demand += more }
                }
                takeReceiver()?.complete(.finished)
            } catch {
                takeReceiver()?.complete(.failure(error))
            }
        }

        private func waitForDemand() async {
            await withCheckedContinuation { continuation in
                let mayGoOn = lock.withLock {
                    if state.receiver == nil || state.demand > 0 { return true }
                    state.waiting = continuation
                    return false
                }
                if mayGoOn { continuation.resume() }
            }
        }

        private func takeDemand() -> Receiver? {
            lock.withLock {
                guard state.receiver != nil else { return nil }
                state.demand -= 1
                return state.receiver
            }
        }

        private func takeReceiver() -> Receiver? {
            lock.withLock {
                defer { state = State() }
                return state.receiver
            }
        }
    }
#endif
