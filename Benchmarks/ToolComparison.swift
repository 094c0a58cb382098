import Foundation

/// Sends one file with the `upload` tool and with curl in turn, each time in a new process, and prints medians and ratios.
struct ToolComparison {
    let byteCount: Int
    let rounds: Int

    func run() async throws {
        let upload = try Tool.upload()
        let curl = Tool.curl()
        let tools = [upload] + (curl.map { [$0] } ?? [])
        print("One file of \(byteCount >> 20) MiB to a server on this machine, \(rounds) rounds, medians.\n")
        let usages = try await TemporaryFiles.withOne(of: byteCount) { file in
            // The first run of each is not like the others: it brings the program into memory, the first of all the file.
            for tool in tools { _ = try await measure(tool, file) }
            return try await Rounds(rounds, of: tools) { try await measure($0, file) }
        }
        report(usages, upload, curl)
    }

    private func measure(_ tool: Tool, _ file: URL) async throws -> ProcessUsage {
        try await CheckedServer.receive(1, of: byteCount) { url in
            try ProcessUsage(running: tool.path, tool.arguments(sending: file, to: url))
        }
    }

    private func report(_ usages: Rounds<Tool, ProcessUsage>, _ upload: Tool, _ curl: Tool?) {
        let table = Table(widths: [13, 20, 20, 20])
        table.printRow("", "seconds", "CPU seconds", "peak MiB")
        for tool in [upload, curl].compactMap(\.self) {
            table.printRow(
                tool.name,
                usages.spread(of: tool, \.seconds).text(2),
                usages.spread(of: tool, \.processorSeconds).text(2),
                usages.spread(of: tool, \.peakMebibytes).text(0)
            )
        }
        if let curl {
            table.printRow(
                "upload / curl",
                usages.ratio(of: upload, to: curl, \.seconds).text(2),
                usages.ratio(of: upload, to: curl, \.processorSeconds).text(2),
                usages.ratio(of: upload, to: curl, \.peakMebibytes).text(2)
            )
            print("\nRatios are the median of \(rounds) pairs (least..most).")
        } else {
            print("\nThere is no curl on the PATH to compare with.")
        }
        if let floor = Platform.leastPeakOfChildren {
            print("A peak below \((Double(floor) / 1_048_576).text(0)) MiB, that of this process, cannot be told.")
        }
    }
}
