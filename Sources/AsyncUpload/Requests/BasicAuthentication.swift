import Foundation

/// The "Basic" authentication scheme (RFC 7617).
enum BasicAuthentication {
    /// The value of the `Authorization` field.
    static func authorization(user: String, password: String) -> String {
        "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    }

    /// Whether one of the challenges in a `WWW-Authenticate` field (RFC 9110 §11.6.1) is for this scheme.
    static func isOffered(by challenges: String) -> Bool {
        QuotedList.elements(of: challenges, separatedBy: ",").contains { element in
            element.split(separator: " ", maxSplits: 1).first?.lowercased() == "basic"
        }
    }
}
