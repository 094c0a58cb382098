import Foundation

/// An upload by tus 1.0.0 whose parts are uploads of their own, several at a time, which the server puts together in the end
/// (extension `concatenation`).
///
/// Where the server cannot do that, it is one upload like any other.
struct TusConcatenation: ResumptionMachine {
    private enum Stage {
        case discovering, sending, joining
        case finished(ResponseHead, Data)
    }

    private let request: URLRequest
    private let options: TusOptions
    private let length: Int64
    private var stage: Stage
    private var parts: [TusMachine] = []
    private var partSize: Int64 = 0
    /// In place of the parts where the server cannot join them.
    private var whole: TusMachine?
    private var isInFlight = false
    private var isHeld = false
    /// In how many of the ways to name the parts the server did not know them.
    private var refusedForms = 0

    /// What the steps are called that are about no part; those of parts are their numbers, from 1.
    private static let ownIdentifier = 0
    private static let partLimit: Int64 = 1000

    init(request: URLRequest, length: Int64, options: TusOptions, state: ResumptionState?) {
        self.request = request
        self.options = options
        self.length = length
        if let state, let partSize = state.partSize, partSize > length / Self.partLimit, !state.parts.isEmpty {
            stage = .sending
            makeParts(of: partSize, state.parts)
        } else if let state, state.location != nil {
            stage = .sending
            whole = TusMachine(request: request, length: length, options: options, state: state)
        } else if let extensions = options.extensions {
            stage = .sending
            begin(with: extensions)
        } else {
            stage = .discovering
        }
    }

    private mutating func begin(with extensions: Set<TusOptions.Extension>) {
        let count = min(Int64(max(1, options.parallelParts)), Self.partLimit)
        var options = options
        options.extensions = extensions
        guard extensions.contains(.concatenation), count > 1, length >= count else {
            whole = TusMachine(request: request, length: length, options: options, state: nil)
            return
        }
        makeParts(of: length / count + (length % count == 0 ? 0 : 1), [:])
    }

    private mutating func makeParts(of size: Int64, _ states: [Int: ResumptionState.Part]) {
        partSize = size
        var start: Int64 = 0
        while start < length {
            let number = parts.count + 1
            let share = TusMachine.Share(identifier: number, start: start, isPartial: true)
            let state = states[number]?.location.map { ResumptionState(location: $0) }
            parts.append(
                TusMachine(
                    request: request,
                    length: min(size, length - start),
                    options: options,
                    state: state,
                    share: share
                )
            )
            start += size
        }
    }

    // MARK: What is known

    var confirmedByteCount: Int64 {
        whole?.confirmedByteCount ?? parts.reduce(0) { $0 + $1.confirmedByteCount }
    }

    var state: ResumptionState? {
        if let whole { return whole.state }
        if case .finished = stage { return nil }
        var state = ResumptionState(partSize: partSize)
        for (index, part) in parts.enumerated() {
            guard let location = part.location, !part.isBroken else { continue }
            state.parts[index + 1] = ResumptionState.Part(location: location.absoluteString)
        }
        return state.parts.isEmpty ? nil : state
    }

    var removal: ResumptionRequest? { removals.first }

    var removals: [ResumptionRequest] {
        whole?.removals ?? parts.compactMap(\.removal)
    }

    // MARK: Steps

    mutating func next() -> ResumptionStep {
        if whole != nil { return whole?.next() ?? .wait }
        switch stage {
        case .finished(let head, let body): return .finish(head, body)
        case .discovering:
            return own {
                ResumptionRequest(identifier: Self.ownIdentifier, $0.request.continued("OPTIONS", $0.request.url))
            }
        case .joining: return own { $0.joining }
        case .sending:
            var free = max(1, options.parallelParts) - parts.count { $0.isInFlight }
            for index in parts.indices where parts[index].finished == nil && !parts[index].isInFlight && free > 0 {
                let step = parts[index].next()
                if case .wait = step { continue }
                free -= 1
                return step
            }
            guard parts.allSatisfy({ $0.finished != nil }) else { return .wait }
            stage = .joining
            return next()
        }
    }

    private mutating func own(_ make: (Self) -> ResumptionRequest) -> ResumptionStep {
        guard !isInFlight, !isHeld else { return .wait }
        isInFlight = true
        return .send(make(self))
    }

    private var joining: ResumptionRequest {
        var request = request.continued("POST", request.url)
        request.setValue("1.0.0", forHTTPHeaderField: "Tus-Resumable")
        let names = nameForms[min(refusedForms, nameForms.count - 1)].joined(separator: " ")
        request.setValue("final;\(names)", forHTTPHeaderField: "Upload-Concat")
        if let metadata = TusMachine.metadata(options.metadata) {
            request.setValue(metadata, forHTTPHeaderField: "Upload-Metadata")
        }
        return ResumptionRequest(identifier: Self.ownIdentifier, request, .data(Data()))
    }

    /// The parts' names as the server has given them, as paths and as URLs: some know only one of these.
    private var nameForms: [[String]] {
        let given = parts.map { $0.locationText ?? "" }
        let urls = parts.map { $0.location?.absoluteString ?? "" }
        let paths = parts.map { $0.location?.path(percentEncoded: true) ?? "" }
        return [given] + [paths, urls].filter { $0 != given }
    }

    // MARK: Outcomes

    mutating func receive(
        _ outcome: ResumptionOutcome,
        bytesSent: Int64,
        for identifier: Int
    ) -> ResumptionVerdict {
        if whole != nil { return whole?.receive(outcome, bytesSent: bytesSent, for: identifier) ?? .proceed }
        guard identifier == Self.ownIdentifier else {
            guard parts.indices.contains(identifier - 1) else { return .proceed }
            return parts[identifier - 1].receive(outcome, bytesSent: bytesSent, for: identifier)
        }
        isInFlight = false
        switch outcome {
        case .answer, .ready: return .proceed
        case .failure(let error): return hold(error.isTransient ? .retry(error) : .fail(error))
        case .response(let head, let body): return received(head, body)
        }
    }

    private mutating func received(_ head: ResponseHead, _ body: Data) -> ResumptionVerdict {
        let error = UploadError.refused(head, body)
        switch (stage, head.statusCode) {
        case (.discovering, _):
            if error.isTransient { return hold(.retry(error)) }
            stage = .sending
            begin(with: TusDiscovery.extensions(head))
            return .proceed
        case (.joining, 200..<300):
            stage = .finished(head, body)
            return .proceed
        case (.joining, 400), (.joining, 404):
            guard refusedForms + 1 < nameForms.count else { return hold(.fail(error)) }
            refusedForms += 1
            return .proceed
        default: return hold(error.isTransient ? .retry(error) : .fail(error))
        }
    }

    private mutating func hold(_ verdict: ResumptionVerdict) -> ResumptionVerdict {
        isHeld = true
        return verdict
    }

    mutating func resume(_ identifier: Int) {
        if whole != nil { return whole?.resume(identifier) ?? () }
        if identifier == Self.ownIdentifier {
            isHeld = false
        } else if parts.indices.contains(identifier - 1) {
            parts[identifier - 1].resume(identifier)
        }
    }

    mutating func interrupt(bytesSent: [Int: Int64]) {
        whole?.interrupt(bytesSent: bytesSent)
        for index in parts.indices { parts[index].interrupt(bytesSent: bytesSent) }
        (isInFlight, isHeld) = (false, false)
    }
}
