import Foundation
import LoopbackServer

/// A response, with its fields to look up.
struct Answer {
    let status: Int
    let head: String
    let body: String

    subscript(name: String) -> String? {
        for line in head.split(separator: "\r\n").dropFirst() {
            let pair = line.split(separator: ":", maxSplits: 1)
            if pair[0].lowercased() == name.lowercased() { return pair[1].trimmingCharacters(in: .whitespaces) }
        }
        return nil
    }
}

extension Client {
    /// Sends a head; with a body's length if there is one.
    func begin(_ method: String, _ target: String, _ fields: [String], length: Int? = nil) throws {
        let framing = length.map { ["Content-Length: \($0)"] } ?? []
        let lines = (["\(method) \(target) HTTP/1.1"] + fields + framing).map { $0 + "\r\n" }
        try write(lines.joined() + "\r\n")
    }

    /// The next response.
    func answer(to method: String = "") throws -> Answer {
        let response = try readResponse(hasBody: method != "HEAD")
        return Answer(status: response.status, head: response.head, body: response.body)
    }

    /// One request, and its response.
    func ask(_ method: String, _ target: String, _ fields: [String] = [], _ body: String? = nil) throws -> Answer {
        try begin(method, target, fields, length: body?.utf8.count)
        if let body { try write(body) }
        return try answer(to: method)
    }
}

/// A script for all requests with this method.
func on(_ method: String, _ script: Script) -> UploadScript {
    { $0.method == method ? script : nil }
}

/// A script for one of the requests with this method, counted from 1.
func on(_ method: String, _ number: Int, _ script: Script) -> UploadScript {
    { $0.method == method && $0.numberOfMethod == number ? script : nil }
}

extension UploadStore {
    /// What is stored of the newest upload.
    var lastText: String? { uploads.last?.data.map { String(decoding: $0, as: UTF8.self) } }
}
