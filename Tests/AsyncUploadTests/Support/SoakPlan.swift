import Foundation

@testable import AsyncUpload

/// What one upload of a soak is like: everything about it follows from the seed and its number.
struct SoakPlan: Sendable, CustomStringConvertible {
    enum Method: String, CaseIterable {
        case put, post, keyedPost
    }

    enum Cancellation: Equatable {
        case never, atOnce
        /// When so much of it has been handed over.
        case atFraction(Double)
        /// When the server has the head of its first request.
        case whenRequested
        /// When it waits for another attempt.
        case inWait
    }

    /// What is done to the uploader before the upload begins.
    enum Change: Equatable {
        case none, reset
        case limit(Int)
        case limitPerHost(Int?)
    }

    let seed: UInt64
    let number: Int
    let kind: FaultyBody
    let size: Int
    let offset: Int
    let method: Method
    let fault: Fault?
    let cancellation: Cancellation
    let priority: Float
    let change: Change

    /// By how much the environment wants soaks to be longer.
    static let factor = ProcessInfo.processInfo.environment["ASYNCUPLOAD_SOAK"].flatMap(Int.init) ?? 1

    static let largestSize = 3_000_000

    init(seed: UInt64, number: Int, carrier: Carrier) {
        var generator = SeededGenerator(seed: seed &* 0x1_0000_0001 &+ UInt64(number))
        (self.seed, self.number) = (seed, number)
        kind = Self.pick(FaultyBody.allCases, &generator)
        method = Self.pick([.put, .put, .put, .post, .keyedPost], &generator)
        size =
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<10: Int.random(in: 0..<10, using: &generator)
            case 10..<60: Int.random(in: 0..<20_000, using: &generator)
            case 60..<98: Int.random(in: 0...300_000, using: &generator)
            default: Self.largestSize
            }
        offset = Int.random(in: 0...(Self.largestSize - size), using: &generator)
        let isFaulty = Int.random(in: 0..<100, using: &generator) < 40
        let fault = Self.pick(Self.faults(carrier), &generator)
        // Each of those takes its time, whatever else goes on.
        let isRare = fault.kind == .silence && Int.random(in: 0..<4, using: &generator) > 0
        // Without bytes URLSession does not tell that there is a connection, so that the limit for connections counts as well.
        let isLong = fault.kind == .silence && size == 0 && carrier != .automatic
        self.fault = isFaulty && !isRare && !isLong ? fault : nil
        cancellation = Self.cancellation(&generator)
        priority = Float.random(in: 0...1, using: &generator)
        change =
            switch Int.random(in: 0..<300, using: &generator) {
            case 0..<6: .limit(Int.random(in: 1...12, using: &generator))
            case 6..<12: .limitPerHost(Self.pick([nil, 1, 3, 8], &generator))
            case 12..<14: .reset
            default: .none
            }
    }

    /// Those that a limit of the whole uploader would have to end are left out.
    private static func faults(_ carrier: Carrier) -> [Fault] {
        Fault.all.filter { fault in
            KnownIssue.forbidding(fault, over: carrier) == nil && !(fault.isPermanent && fault.kind == .silence)
        }
    }

    private static func cancellation(_ generator: inout SeededGenerator) -> Cancellation {
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<3: .atOnce
        case 3..<9: .atFraction(Double.random(in: 0...1, using: &generator))
        case 9..<12: .whenRequested
        case 12..<15: .inWait
        default: .never
        }
    }

    private static func pick<Element>(_ elements: [Element], _ generator: inout SeededGenerator) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &generator)]
    }

    var description: String {
        let fault = fault.map { "\($0)" } ?? "no fault"
        return "upload \(number): \(method) of \(kind) with \(size) bytes, \(fault), "
            + "cancellation \(cancellation)"
    }
}

extension SoakPlan {
    /// How it may end if nobody cancels it.
    func endings(over carrier: Carrier) -> Set<Ending> {
        guard let fault else { return [.success] }
        var endings = fault.verdict(on: kind, over: carrier, mayRepeat: method != .post).endings
        // Which of these it is depends on the size, and on what else goes on.
        for alike in [Fault.losses, [.stalled, .timedOut]].map({ Set($0.map(Ending.failure)) })
        where !endings.isDisjoint(with: alike) {
            endings.formUnion(alike)
        }
        // A connection that had been used before and ends without an answer is one that the server had closed, as far as
        // anybody can tell: what has not been sent, or may be sent twice, is sent again within the same attempt.
        let isEnd = [.reset, .close].contains(fault.kind) && !fault.isPermanent && fault.place <= .beforeResponse
        if isEnd { endings.insert(.success) }
        // A body without bytes is nothing that could be read.
        if size == 0, endings.contains(.failure(.bodyNotReplayable)) { endings.insert(.success) }
        return endings
    }
}
