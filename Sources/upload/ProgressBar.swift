/// One line that tells how far it is. Pure.
struct ProgressBar: Equatable {
    /// What stands at the end of the line.
    enum Ending: Equatable {
        /// Under way; how long the rest takes, if that can be said.
        case remaining(Duration?)
        /// Everything is handed over, the answer is not there yet.
        case waiting
        /// Begins anew after so long, and why; none is left while it waits for its turn.
        case retrying(in: Duration, reason: String?)
        /// So many of several files wait before they begin anew.
        case someRetrying(Int)
        /// Over, after so long.
        case took(Duration)
        /// Over, and not as it should be.
        case note(String)

        /// Whether it only counts down what the other one has told.
        func continues(_ other: Ending?) -> Bool {
            guard case .retrying(let rest, let reason) = self else { return false }
            guard case .retrying(let before, reason) = other else { return false }
            return rest <= before
        }
    }

    var label: String
    /// Whether it stays whole as long as it fits: half a number would be another number.
    var keepsLabel = false
    /// In `0...1`.
    var fraction: Double
    var sent: Int64
    /// `nil` while it is not known; there is no bar then.
    var total: Int64?
    var bytesPerSecond: Double
    var ending: Ending

    private static let gap = "  "
    private static let labelMinimum = 18
    private static let barMinimum = 8
    private static let barUsual = 14
    private static let barMaximum = 30

    /// The line, at most `width` columns long.
    ///
    /// What there is no room for is left out, beginning from the end. The bar's own width does not depend on the
    /// numbers, so that it stays put while they change.
    func line(width: Int, unicode: Bool) -> String {
        let label = unicode ? SafeText.escaped(label) : SafeText.ascii(SafeText.escaped(label))
        let labelWidth = SafeText.width(of: label)
        let labelMinimum = labelMinimum(for: labelWidth)
        let ellipsis = unicode ? "…" : "..."
        for level in Level.allCases.reversed() where total != nil {
            let available = width - reserved(at: level) - Self.gap.count
            guard available - labelMinimum >= Self.barMinimum else { continue }
            let labelLimit = max(labelMinimum, available - Self.barUsual)
            let shown = SafeText.shortened(label, to: labelLimit, ellipsis: ellipsis)
            let bar = bar(width: min(available - SafeText.width(of: shown), Self.barMaximum), unicode: unicode)
            let room = width - SafeText.width(of: shown) - Self.gap.count - SafeText.width(of: bar)
            return ([shown, bar] + texts(at: level, room: room)).joined(separator: Self.gap)
        }
        return lineWithoutBar(label, width: width, ellipsis: ellipsis)
    }

    /// What a label of that width is not shortened below.
    private func labelMinimum(for width: Int) -> Int {
        keepsLabel ? width : min(width, Self.labelMinimum)
    }

    // MARK: Levels of detail

    private enum Level: CaseIterable {
        case percent, bytes, rate, time
    }

    private func texts(at level: Level, room: Int) -> [String] {
        if let texts = retryTexts(room: room) { return texts }
        return switch level {
        case .percent: [percent]
        case .bytes: [percent, bytes]
        case .rate: [percent, bytes] + end(withTime: false)
        case .time: [percent, bytes] + end(withTime: true)
        }
    }

    /// As much about the next attempt as there is room for; `nil` when none is waited for.
    private func retryTexts(room: Int) -> [String]? {
        let choices: [[String]]
        let done = total == nil ? [bytes] : [percent, bytes]
        switch ending {
        case .retrying(let rest, let reason):
            let plan = RetryWords.plan(rest)
            let whole = reason.map { "\(plan) (\(RetryWords.reason($0)))" } ?? plan
            let first = Array(done.prefix(1))
            choices = [done + [whole], first + [whole], done + [plan], first + [plan], first + ["retrying"], first]
        case .someRetrying(let count):
            let note = "\(count) retrying"
            let rate = Quantity.rate(bytesPerSecond)
            choices = [done + [rate, note], done + [note], done + [rate], done, Array(done.prefix(1))]
        default: return nil
        }
        return choices.first { $0.reduce(0) { $0 + Self.gap.count + $1.count } <= room } ?? choices.last
    }

    /// Columns that are kept free for the texts, with the gaps before them.
    private func reserved(at level: Level) -> Int {
        let longestBytes = total.map { Quantity.bytes($0, of: $0).count } ?? 0
        return switch level {
        case .percent: 7
        case .bytes: 7 + 2 + longestBytes
        case .rate: 7 + 2 + longestBytes + 2 + 8
        case .time: 7 + 2 + longestBytes + 2 + 8 + 2 + 12
        }
    }

    private var percent: String {
        // 100 % is said when all of it is there, not before.
        "\(fraction >= 1 ? 100 : max(0, min(99, Int(fraction * 100)))) %"
    }

    private var bytes: String {
        guard let total else { return Quantity.bytes(sent) }
        return sent == total ? Quantity.bytes(total) : Quantity.bytes(sent, of: total)
    }

    private func end(withTime: Bool) -> [String] {
        let rate = Quantity.rate(bytesPerSecond)
        switch ending {
        case .remaining(let time):
            guard withTime else { return [rate] }
            return [rate] + (time.map { ["\(Quantity.timeLeft($0)) left"] } ?? [])
        case .waiting: return [withTime ? "waiting for the answer" : "waiting"]
        case .retrying, .someRetrying: return []
        case .took(let time): return withTime ? [rate, "in \(Quantity.timeTaken(time))"] : [rate]
        case .note(let note): return [String(note.prefix(withTime ? 22 : 8))]
        }
    }

    // MARK: Parts

    private func bar(width: Int, unicode: Bool) -> String {
        let cells = unicode ? width : width - 2
        let full = max(0, min(cells, Int(fraction * Double(cells))))
        let rest = cells - full
        return unicode
            ? String(repeating: "█", count: full) + String(repeating: "░", count: rest)
            : "[" + String(repeating: "#", count: full) + String(repeating: "-", count: rest) + "]"
    }

    /// For a narrow terminal, and while the total is not known: as many of the texts as there is room for.
    private func lineWithoutBar(_ label: String, width: Int, ellipsis: String) -> String {
        let labelWidth = SafeText.width(of: label)
        let usual = total == nil ? [bytes] + end(withTime: true) : [percent]
        let texts = retryTexts(room: width - labelMinimum(for: labelWidth)) ?? usual
        var end = ""
        for text in texts {
            let longer = end + Self.gap + text
            guard end.isEmpty || longer.count + labelMinimum(for: labelWidth) <= width else { break }
            end = longer
        }
        guard width > end.count else { return String(end.drop { $0 == " " }.prefix(max(0, width))) }
        return SafeText.shortened(label, to: width - end.count, ellipsis: ellipsis) + end
    }
}
