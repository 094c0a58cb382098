#if canImport(Combine)
    public import Combine
    public import Foundation

    extension Uploader {
        /// Uploads a body for each subscriber, and publishes the events of the upload.
        ///
        /// An upload starts when a subscriber first asks for events. One that asks for few gets the newest progress then,
        /// and always the response. Cancelling the subscription stops the upload. Failures are ``UploadError`` or
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
            subscriber.receive(subscription: UploadSubscription(self, subscriber))
        }
    }

    /// One subscriber's upload: a task reads the events, and waits with each until there is demand for it.
    // `state` protects everything that changes; the subscriber is only called by the task, one call after the other.
    private final class UploadSubscription<S: Subscriber>: Subscription, @unchecked Sendable
    where S.Input == UploadEvent, S.Failure == any Error {
        private struct State {
            var demand = Subscribers.Demand.none
            var subscriber: S?
            var work: Task<Void, Never>?
            var waiting: CheckedContinuation<Void, Never>?
        }

        private let publisher: UploadPublisher
        private let lock = NSLock()
        private var state = State()

        init(_ publisher: UploadPublisher, _ subscriber: S) {
            self.publisher = publisher
            state.subscriber = subscriber
        }

        func request(_ demand: Subscribers.Demand) {
            let waiting: CheckedContinuation<Void, Never>? = lock.withLock {
                guard state.subscriber != nil else { return nil }
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
                    guard let subscriber = takeDemand() else { return }
                    let more = subscriber.receive(event)
                    lock.withLock { state.demand += more }
                }
                takeSubscriber()?.receive(completion: .finished)
            } catch {
                takeSubscriber()?.receive(completion: .failure(error))
            }
        }

        private func waitForDemand() async {
            await withCheckedContinuation { continuation in
                let mayGoOn = lock.withLock {
                    if state.subscriber == nil || state.demand > 0 { return true }
                    state.waiting = continuation
                    return false
                }
                if mayGoOn { continuation.resume() }
            }
        }

        private func takeDemand() -> S? {
            lock.withLock {
                guard state.subscriber != nil else { return nil }
                state.demand -= 1
                return state.subscriber
            }
        }

        private func takeSubscriber() -> S? {
            lock.withLock {
                defer { state = State() }
                return state.subscriber
            }
        }
    }
#endif
