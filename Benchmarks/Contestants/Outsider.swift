import Foundation

extension Contestant {
    /// One that the command line names, as in `name=command with {file} and {url}`, for the shell.
    ///
    /// - Returns: `nil` when it is not of that form.
    static func outside(_ description: String) -> Contestant? {
        guard let separator = description.firstIndex(of: "="), separator > description.startIndex else { return nil }
        let template = String(description[description.index(after: separator)...])
        guard template.contains("{file}"), template.contains("{url}") else { return nil }
        return Contestant(
            name: String(description[..<separator]),
            explanation: template,
            canDo: { $0.uploadCount == 1 && $0.body == .file && $0.isPlain && $0.authority == nil },
            command: { _, files, url in
                let command = template.replacing("{file}", with: quoted(files.file(0).path))
                    .replacing("{url}", with: quoted(url.absoluteString))
                return Command(program: "/bin/sh", arguments: ["-c", command])
            },
            seconds: { _ in nil }
        )
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("'", with: #"'\''"#) + "'"
    }
}
