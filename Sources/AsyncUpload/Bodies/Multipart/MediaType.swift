/// Media types that go with the names of files.
enum MediaType {
    /// The type of a file with that name, or `application/octet-stream`.
    ///
    /// A short list: what people upload. The registry has thousands, and each platform another table of its own.
    static func guessed(forFilename name: String) -> String {
        guard let dot = name.lastIndex(of: ".") else { return fallback }
        return byExtension[name[name.index(after: dot)...].lowercased()] ?? fallback
    }

    static let fallback = "application/octet-stream"

    private static let openXML = "application/vnd.openxmlformats-officedocument"

    private static let byExtension = [
        "aac": "audio/aac", "avi": "video/x-msvideo", "avif": "image/avif", "bmp": "image/bmp",
        "bz2": "application/x-bzip2",
        "css": "text/css", "csv": "text/csv",
        "docx": "\(openXML).wordprocessingml.document",
        "epub": "application/epub+zip", "flac": "audio/flac", "gif": "image/gif", "gz": "application/gzip",
        "heic": "image/heic", "htm": "text/html", "html": "text/html", "ics": "text/calendar", "jpeg": "image/jpeg",
        "jpg": "image/jpeg", "js": "text/javascript", "json": "application/json", "m4a": "audio/mp4",
        "m4v": "video/mp4",
        "md": "text/markdown", "mkv": "video/matroska", "mov": "video/quicktime", "mp3": "audio/mpeg",
        "mp4": "video/mp4",
        "mpeg": "video/mpeg", "mpg": "video/mpeg", "ogg": "audio/ogg", "otf": "font/otf", "pdf": "application/pdf",
        "png": "image/png", "pptx": "\(openXML).presentationml.presentation",
        "rtf": "application/rtf", "svg": "image/svg+xml", "tar": "application/x-tar", "tif": "image/tiff",
        "tiff": "image/tiff", "ttf": "font/ttf", "txt": "text/plain", "wav": "audio/wav", "webm": "video/webm",
        "webp": "image/webp", "woff2": "font/woff2",
        "xlsx": "\(openXML).spreadsheetml.sheet", "xml": "application/xml",
        "zip": "application/zip", "7z": "application/x-7z-compressed",
    ]
}
