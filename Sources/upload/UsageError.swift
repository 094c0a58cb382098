/// What is wrong with a command line.
struct UsageError: Error, Equatable {
    /// In one sentence without a full stop.
    var message: String

    init(_ message: String) {
        self.message = message
    }

    /// The line for standard error.
    var line: String { "upload: \(SafeText.escaped(message)); see upload --help" }
}
