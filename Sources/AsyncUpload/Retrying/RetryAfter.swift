import Foundation

/// The wait that a server asks for (RFC 9110 §10.2.3).
enum RetryAfter {
    /// - Returns: `nil` when the field is missing or cannot be read; none for a time that has passed.
    static func delay(in headers: HTTPFields, at now: Date) -> Duration? {
        guard let text = headers["Retry-After"]?.trimmingCharacters(in: .whitespaces) else { return nil }
        if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            return .seconds(min(Int64(text) ?? .max, longest))
        }
        // The server's clock may be wrong, but is so in both.
        let reference = headers["Date"].flatMap { HTTPDate.date(from: $0, at: now) } ?? now
        return HTTPDate.date(from: text, at: now).map { date in
            .seconds(max(0, min(date.timeIntervalSince(reference), Double(longest))))
        }
    }

    /// Some decades, in seconds: as good as never, and no trouble to calculate with.
    private static let longest: Int64 = 1_000_000_000
}

/// A point in time as HTTP writes it: in the preferred form or in one of the two obsolete ones (RFC 9110 §5.6.7).
enum HTTPDate {
    private static let formats = [
        "EEE, dd MMM yyyy HH:mm:ss zzz", "EEEE, dd-MMM-yy HH:mm:ss zzz", "EEE MMM d HH:mm:ss yyyy",
    ]

    /// - Parameter now: what a year of two digits is near to: it is never more than 50 years ahead.
    static func date(from text: String, at now: Date) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.isLenient = false
        formatter.twoDigitStartDate = now.addingTimeInterval(-50 * 365.25 * 86400)
        let text = text.split(separator: " ").joined(separator: " ")
        for format in formats {
            formatter.dateFormat = format
            if let date = formatter.date(from: text) { return date }
        }
        return nil
    }
}
