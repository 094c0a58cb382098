import Foundation

/// A final response to be sent. Thrown, it refuses the request.
struct Reply: Error, Sendable {
    var status: Int
    var reason: String?
    var headers: [(String, String)]
    var body: Data

    init(_ status: Int, _ headers: [(String, String)] = [], reason: String? = nil, body: String = "") {
        self.status = status
        self.reason = reason
        self.headers = headers
        self.body = Data(body.utf8)
    }

    /// A refusal with the reason in words, to be found in a failed test's output.
    static func refusal(_ status: Int, _ why: String, _ headers: [(String, String)] = []) -> Reply {
        Reply(status, headers, body: why + "\n")
    }

    /// Whether the body is in chunks already.
    var isFramed: Bool { headers.contains { isSame($0.0, "Transfer-Encoding") } }

    /// Adds a field if it has a value.
    mutating func add(_ name: String, _ value: String?) {
        if let value { headers.append((name, value)) }
    }
}

/// What a server does with a request for an upload while another one for it is still being served.
public enum BusyRule: Sendable {
    /// Answers 423.
    case refuse
    /// Waits for the end of the other, then serves it; 423 after that time.
    case wait(upTo: Duration)
    /// Ends the other with a reset connection, then serves it.
    case interrupt
}

/// The value of a decimal number without sign, nil for anything else.
func decimal<Text: StringProtocol>(_ text: Text) -> Int64? {
    // Only digits: the standard library would take a sign, too.
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int64(text)
}

/// The values of a query's items by name, with `%XX` decoded and `+` left alone.
func queryItems(of target: String) -> [String: String] {
    guard let mark = target.firstIndex(of: "?") else { return [:] }
    var items: [String: String] = [:]
    for item in target[target.index(after: mark)...].split(separator: "&") {
        let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let value = pair.count == 2 ? String(pair[1]) : ""
        items[String(pair[0])] = value.removingPercentEncoding ?? value
    }
    return items
}

/// A date in the format of HTTP's fields.
func httpDate(_ date: Date) -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    return formatter.string(from: date)
}
