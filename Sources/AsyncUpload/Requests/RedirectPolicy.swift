/// What happens when the server answers an upload with a redirect.
///
/// A redirect that is followed sends the whole body again: 307 and 308 keep the method (RFC 9110 §15.4.8, §15.4.9),
/// 301 and 302 too, except that they make a GET without a body of a POST, and 303 makes a GET of everything but HEAD.
/// Never followed are redirects from https to http and to other schemes than these two. When the origin changes, the
/// fields named in ``Uploader/Configuration/credentialFields`` stay behind.
public struct RedirectPolicy: Sendable, Hashable {
    /// How many redirects one upload follows.
    let limit: Int?

    /// Follow up to so many redirects; one more fails with ``UploadError/Code-swift.struct/tooManyRedirects``.
    public static func follow(limit: Int = 20) -> RedirectPolicy {
        RedirectPolicy(limit: max(0, limit))
    }

    /// A redirect is a final answer like any other, and not an accepted one.
    public static let refuse = RedirectPolicy(limit: nil)
}
