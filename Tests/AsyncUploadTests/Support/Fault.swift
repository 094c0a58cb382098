import Foundation
import LoopbackServer

/// Something that goes wrong with an upload: what it is, and how far the upload has come by then.
struct Fault: Sendable, Hashable, CustomStringConvertible {
    enum Place: String, CaseIterable, Sendable, Comparable {
        /// Instead of a connection, and instead of TLS on it; every attempt meets those.
        case connect, tls
        /// When the server has the head, the first byte of the body, half of it, all but the last byte, all of it.
        case head, firstByte, middle, lastByte, beforeResponse
        /// When the server has accepted the body and a part of the response has been sent.
        case responseHead, responseBody

        static func < (left: Place, right: Place) -> Bool {
            (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
        }
    }

    enum Kind: Sendable, Hashable {
        case reset, close, silence, garbage
        case status(Int)

        static let all: [Kind] = [.reset, .close, .silence, .garbage] + [429, 503, 401, 307].map(Kind.status)
    }

    let place: Place
    let kind: Kind

    /// Every kind at every place where it can be: a status is an answer, and takes a request to answer and none yet given.
    static let all: [Fault] = Place.allCases.flatMap { place in
        Kind.all.map { Fault(place: place, kind: $0) }.filter(\.isPossible)
    }

    private var isPossible: Bool {
        if case .status = kind { (.head ... .beforeResponse).contains(place) } else { true }
    }

    /// Whether every attempt meets it, and not only the first.
    var isPermanent: Bool { place <= .tls }

    /// Whether the server has accepted the body when it happens.
    var followsAcceptance: Bool { place >= .responseHead }

    var description: String {
        if case .status(let status) = kind { "\(status) at \(place)" } else { "\(kind) at \(place)" }
    }
}

extension Fault {
    /// What meets every connection, where it is a fault of connections.
    func listener() throws -> RawListener? {
        guard isPermanent else { return nil }
        let conduct: RawListener.Conduct? =
            switch kind {
            case .reset: .resets
            case .close: .closes
            case .silence: .staysSilent
            case .garbage: .talksNonsense
            case .status: nil
            }
        return try conduct.map { try RawListener($0, place == .connect ? .atOnce : .afterFirstBytes) }
    }

    /// Where a request goes that meets a listener.
    func url(of listener: RawListener) -> URL? {
        URL(string: "\(place == .tls ? "https" : "http")://127.0.0.1:\(listener.port)/x")
    }

    /// Accepts a request as far as the fault lets it come, and then lets the fault happen.
    ///
    /// - Parameter bodyLength: how many bytes the body has, so that half of it is half.
    func serve(_ exchange: Exchange, bodyLength: Int64) throws {
        switch place {
        case .connect, .tls, .head: break
        case .firstByte: try read(1, of: bodyLength, exchange)
        case .middle: try read(bodyLength / 2, of: bodyLength, exchange)
        case .lastByte: try read(bodyLength - 1, of: bodyLength, exchange)
        case .beforeResponse: try exchange.readBody(digesting: true)
        case .responseHead:
            try exchange.readBody(digesting: true)
            try exchange.send("HTTP/1.1 201 Created\r\nContent-Le")
        case .responseBody:
            try exchange.readBody(digesting: true)
            try exchange.send("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        }
        try happen(exchange)
    }

    private func read(_ count: Int64, of length: Int64, _ exchange: Exchange) throws {
        _ = try exchange.readBody(upTo: Int(max(0, min(count, length))), digesting: true)
    }

    private func happen(_ exchange: Exchange) throws {
        switch kind {
        case .reset: exchange.reset()
        // What comes after that is read, or the system would send a reset as well.
        case .close: exchange.close(draining: true)
        case .silence:
            try? exchange.wait(Self.silence)
            exchange.reset()
        case .garbage:
            // Neither the rest of a field nor the size of a chunk, nor the beginning of a response. It stays the last thing
            // that is heard until the peer has enough: a reset could take it back.
            try exchange.send(RawListener.nonsense + "\r\n")
            try? exchange.wait(Self.silence)
            exchange.reset()
        case .status(307): try exchange.respond(307, headers: [("Location", exchange.request.path + "/elsewhere")])
        case .status(401): try exchange.respond(401, headers: [("WWW-Authenticate", "Basic realm=\"r\"")])
        case .status(let status): try exchange.respond(status)
        }
    }

    /// Longer than anybody who tests it waits. A peer that has closed while the system holds what it sent may go unnoticed.
    private static let silence = Duration.seconds(20)
}
