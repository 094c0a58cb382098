import Foundation

extension URLRequest {
    /// A request that goes on with what this one has begun: its fields, but for those that are about its own body, and the key by
    /// which a server would take it for the same one.
    func continued(_ method: String, _ url: URL?) -> URLRequest {
        var request = self
        request.removeHeaderFields(where: Self.isAboutBody)
        request.httpBody = nil
        request.httpMethod = method
        request.url = url
        // What a cache remembers of an upload is out of date.
        request.cachePolicy = .reloadIgnoringLocalAndRemoteCacheData
        return request
    }

    /// - Parameter name: in lower case.
    private static func isAboutBody(_ name: String) -> Bool {
        name.hasPrefix("content-")
            || ["expect", "digest", "repr-digest", "want-repr-digest", IdempotencyKey.fieldName.lowercased()].contains(
                name
            )
    }

    /// Removes the fields whose names, in lower case, the condition holds for. A name may be there in several spellings.
    mutating func removeHeaderFields(where condition: (String) -> Bool) {
        for name in (allHTTPHeaderFields ?? [:]).keys where condition(name.lowercased()) {
            setValue(nil, forHTTPHeaderField: name)
        }
    }
}
