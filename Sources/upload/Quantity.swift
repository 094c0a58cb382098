import Foundation

/// Amounts as people read them, in decimal units.
enum Quantity {
    private static let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"]

    /// Such as `2.0 GB`.
    static func bytes(_ count: Int64) -> String {
        let (divisor, unit) = scale(Double(count))
        return "\(number(Double(count) / divisor, of: Double(count) / divisor, unit)) \(units[unit])"
    }

    /// Such as `1.2 of 2.0 GB`.
    static func bytes(_ count: Int64, of total: Int64) -> String {
        let (divisor, unit) = scale(Double(total))
        let whole = Double(total) / divisor
        return "\(number(Double(count) / divisor, of: whole, unit)) of \(number(whole, of: whole, unit)) \(units[unit])"
    }

    /// Such as `84 MB/s`.
    static func rate(_ bytesPerSecond: Double) -> String {
        let rate = bytesPerSecond.isFinite ? max(0, bytesPerSecond) : 0
        let (divisor, unit) = scale(rate)
        let value = rate / divisor
        return String(format: unit > 0 && value < 9.95 ? "%.1f" : "%.0f", value) + " \(units[unit])/s"
    }

    /// How long something takes: minutes and seconds, with hours if there are any, such as `0:09`. A second that has
    /// begun counts.
    static func timeLeft(_ duration: Duration) -> String {
        clock(duration.components.seconds + (duration.components.attoseconds > 0 ? 1 : 0))
    }

    /// How long something took, such as `0.4 s` or `1:05`.
    static func timeTaken(_ duration: Duration) -> String {
        let seconds = max(0, duration / .seconds(1))
        return seconds < 9.95 ? String(format: "%.1f s", seconds) : clock(duration.components.seconds)
    }

    private static func clock(_ seconds: Int64) -> String {
        let seconds = max(0, seconds)
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60)
        guard hours < 100 else { return "\(hours / 24) days" }
        let end = String(format: ":%02d", Int(seconds % 60))
        return hours > 0 ? "\(hours)" + String(format: ":%02d", Int(minutes)) + end : "\(minutes)\(end)"
    }

    private static func number(_ value: Double, of whole: Double, _ unit: Int) -> String {
        String(format: unit > 0 && whole < 99.95 ? "%.1f" : "%.0f", value)
    }

    /// The unit in which the value has at most three digits, rounded.
    private static func scale(_ value: Double) -> (divisor: Double, unit: Int) {
        var (divisor, unit) = (1.0, 0)
        while value / divisor >= 999.5, unit < units.count - 1 {
            divisor *= 1000
            unit += 1
        }
        return (divisor, unit)
    }
}
