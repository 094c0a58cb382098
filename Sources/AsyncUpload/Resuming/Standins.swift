import Foundation
struct GCSMachine: ResumptionMachine {
    init(request: URLRequest, length: Int64?, contentType: String?, options: GCSOptions, state: ResumptionState?) {}
    mutating func next() -> ResumptionStep { .wait }
    mutating func receive(_ outcome: ResumptionOutcome, bytesSent: Int64, for identifier: Int) -> ResumptionVerdict { .proceed }
    mutating func resume(_ identifier: Int) {}
    mutating func interrupt(bytesSent: [Int: Int64]) {}
    var state: ResumptionState? { nil }
    var confirmedByteCount: Int64 { 0 }
    var removal: ResumptionRequest? { nil }
}
typealias S3MultipartMachine = GCSMachine
extension GCSMachine {
    init(request: URLRequest, length: Int64?, contentType: String?, options: S3MultipartOptions, state: ResumptionState?) {}
}
final class MemoryCheckpointStore: CheckpointStore {
    let all = Locked<[String: UploadCheckpoint]>([:])
    func claim(_ identifier: String) async throws {}
    func release(_ identifier: String) async {}
    func checkpoint(for identifier: String) async throws -> UploadCheckpoint? { all.withLock { $0[identifier] } }
    func save(_ checkpoint: UploadCheckpoint, for identifier: String) async throws { all.withLock { $0[identifier] = checkpoint } }
    func remove(_ identifier: String) async throws { all.withLock { $0[identifier] = nil } }
}
