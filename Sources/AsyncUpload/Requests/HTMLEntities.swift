import Foundation

/// Character references in HTML text: those that HTML 4 names (§24), `&apos;`, and numeric ones.
enum HTMLEntities {
    /// The text with each reference replaced by its character, once: `&amp;lt;` becomes `&lt;`.
    ///
    /// What is no reference, or has no semicolon, stays as it is. A number that stands for no character becomes U+FFFD, and one
    /// of 128...159 what Windows-1252 has there, as in browsers (HTML, "numeric character reference end state").
    static func decoded(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "&")) else { return text }
        var result = String.UnicodeScalarView()
        var rest = text.unicodeScalars[...]
        while let start = rest.firstIndex(of: "&") {
            result += rest[..<start]
            let behind = rest[rest.index(after: start)...]
            // Neither a name nor a number has anything else in it.
            let name = behind.prefix { $0 == "#" || UInt8(exactly: $0.value)?.isAlphanumericASCII == true }
            if behind[name.endIndex...].first == ";", let scalar = scalar(for: String(name)) {
                result.append(scalar)
                rest = behind[name.endIndex...].dropFirst()
            } else {
                result.append("&")
                rest = behind
            }
        }
        result += rest
        return String(result)
    }

    private static func scalar(for name: String) -> Unicode.Scalar? {
        guard name.first == "#" else { return byName[name].flatMap(Unicode.Scalar.init) }
        let isHexadecimal = ["x", "X"].contains(name.dropFirst().first)
        let digits = name.dropFirst(isHexadecimal ? 2 : 1)
        guard !digits.isEmpty,
            digits.utf8.allSatisfy({ isHexadecimal ? isxdigit(CInt($0)) != 0 : isdigit(CInt($0)) != 0 })
        else { return nil }
        // What is too large for a number is too large for a character.
        switch UInt32(digits, radix: isHexadecimal ? 16 : 10) ?? .max {
        case 0: return "\u{fffd}"
        case let number where (0x80...0x9f).contains(number):
            let byte = Data([UInt8(number)])
            return String(data: byte, encoding: .windowsCP1252)?.unicodeScalars.first ?? Unicode.Scalar(number)
        case let number: return Unicode.Scalar(number) ?? "\u{fffd}"
        }
    }

    private static let byName: [String: UInt32] = {
        var byName: [String: UInt32] = ["apos": 0x27]
        for (first, names) in runs {
            for (offset, name) in names.split(separator: " ").enumerated() {
                byName[String(name)] = first + UInt32(offset)
            }
        }
        return byName
    }()

    /// The names of characters that follow each other, by the first of them.
    private static let runs: KeyValuePairs<UInt32, String> = [
        0x22: "quot", 0x26: "amp", 0x3c: "lt", 0x3e: "gt",
        0xa0: "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg",
        0xb1: "plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest",
        0xc0: "Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute",
        0xce: "Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc",
        0xdc: "Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute",
        0xea: "ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide",
        0xf8: "oslash ugrave uacute ucirc uuml yacute thorn yuml", 0x152: "OElig oelig", 0x160: "Scaron scaron",
        0x178: "Yuml", 0x192: "fnof", 0x2c6: "circ", 0x2dc: "tilde",
        0x391: "Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho",
        0x3a3: "Sigma Tau Upsilon Phi Chi Psi Omega",
        0x3b1: "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho",
        0x3c2: "sigmaf sigma tau upsilon phi chi psi omega", 0x3d1: "thetasym upsih", 0x3d6: "piv",
        0x2002: "ensp emsp", 0x2009: "thinsp", 0x200c: "zwnj zwj lrm rlm", 0x2013: "ndash mdash",
        0x2018: "lsquo rsquo sbquo", 0x201c: "ldquo rdquo bdquo", 0x2020: "dagger Dagger bull", 0x2026: "hellip",
        0x2030: "permil", 0x2032: "prime Prime", 0x2039: "lsaquo rsaquo", 0x203e: "oline", 0x2044: "frasl",
        0x20ac: "euro", 0x2111: "image", 0x2118: "weierp", 0x211c: "real", 0x2122: "trade", 0x2135: "alefsym",
        0x2190: "larr uarr rarr darr harr", 0x21b5: "crarr", 0x21d0: "lArr uArr rArr dArr hArr", 0x2200: "forall",
        0x2202: "part exist", 0x2205: "empty", 0x2207: "nabla isin notin", 0x220b: "ni", 0x220f: "prod",
        0x2211: "sum minus", 0x2217: "lowast", 0x221a: "radic", 0x221d: "prop infin", 0x2220: "ang",
        0x2227: "and or cap cup int", 0x2234: "there4", 0x223c: "sim", 0x2245: "cong", 0x2248: "asymp",
        0x2260: "ne equiv", 0x2264: "le ge", 0x2282: "sub sup nsub", 0x2286: "sube supe", 0x2295: "oplus",
        0x2297: "otimes", 0x22a5: "perp", 0x22c5: "sdot", 0x2308: "lceil rceil lfloor rfloor", 0x2329: "lang rang",
        0x25ca: "loz", 0x2660: "spades", 0x2663: "clubs", 0x2665: "hearts diams",
    ]
}
