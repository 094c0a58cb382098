import Foundation
import Testing

@testable import AsyncUpload

@Suite("What Amazon S3 says")
struct S3AnswerTests {
    private func xml(_ text: String) -> XMLText { XMLText(Data(text.utf8)) }

    // MARK: XML

    @Test(
        "The outermost element has a name",
        arguments: [
            ("<Error/>", "Error"), ("  \n<Error>", "Error"), (#"<?xml version="1.0"?><a:B c="d"><E/></a:B>"#, "B"),
            ("<!-- <no> --><!DOCTYPE x><Yes\n>", "Yes"), ("", nil), ("text", nil), ("<", nil), ("<Error", nil),
            ("<!-- <Error>", nil), ("</Error>", nil), ("<>", ""),
        ]
    )
    func root(text: String, name: String?) {
        #expect(xml(text).root == name)
    }

    @Test(
        "An element is found wherever it is, if it is closed",
        arguments: [
            ("<A><B>1</B></A>", "1"), ("<A><B x='1'> 1 </B></A>", "1"), ("<B/>", ""), ("<B />", ""),
            ("<s:B>1</s:B>", "1"),
            ("<B>&lt;&amp;&quot;&#65;&unknown;</B>", "<&\"A&unknown;"), ("<B>1</B><B>2</B>", "1"), ("<B>1", nil),
            ("<B>1</b>", nil), ("<b>1</b>", nil), ("</B>1", nil), ("<!--<B>1</B>-->", nil), ("<BB>1</BB>", nil),
            ("<B><B>1</B>2</B>", "<B>1</B>2"), ("<B></B", nil), ("", nil),
        ]
    )
    func element(text: String, content: String?) {
        #expect(xml(text).element("B")?.content == content)
    }

    @Test("All elements of a name are found, and nested ones once")
    func elements() {
        let text = xml("<L><P>1</P><P/><P>2<P>3</P></P><P>4")
        #expect(text.elements("P").map(\.content) == ["1", "", "2<P>3</P>"])
    }

    @Test("What is not UTF-8 or has no end is read in passing")
    func odd() {
        #expect(
            XMLText(Data([0xff, 0x3c, 0x42, 0x3e, 0xfe, 0x3c, 0x2f, 0x42, 0x3e])).element("B")?.content == "\u{fffd}"
        )
        let deep = String(repeating: "<P>", count: 50_000)
        #expect(xml(deep).elements("P").isEmpty)
        #expect(xml(String(repeating: "<", count: 50_000)).root == nil)
    }

    // MARK: Errors

    private func refused(_ status: Int, _ code: String?) -> UploadError {
        let body = code.map { "<Error><Code>\($0)</Code></Error>" } ?? ""
        return S3Answer.refused(head(status), Data(body.utf8))
    }

    @Test("What may pass is told by the status or by the code")
    func transient() {
        for code in ["RequestTimeout", "BadDigest", "InternalError", "SlowDown"] {
            let error = refused(400, code)
            #expect(error.isTransient)
            #expect(error.code == .transferFailed)
            #expect(error.detail?.hasSuffix(code) == true)
            #expect(error.response?.statusCode == 400)
        }
        #expect(refused(409, "ConditionalRequestConflict").isTransient)
        #expect(refused(503, "SlowDown").code == .unacceptableStatus)
        #expect(refused(503, "Whatever").isTransient)
        #expect(refused(500, nil).isTransient)
        #expect(!refused(400, "InvalidPart").isTransient)
        #expect(!refused(400, nil).isTransient)
        #expect(refused(400, "InvalidPart").code == .unacceptableStatus)
    }

    @Test("A code is that of an error, not one in a result")
    func code() {
        #expect(S3Answer.errorCode(Data("<Result><Code>InternalError</Code></Result>".utf8)) == nil)
        #expect(S3Answer.errorCode(Data(" \n <Error><Code> A </Code></Error>".utf8)) == "A")
        #expect(S3Answer.errorCode(Data("<Error>".utf8)) == nil)
    }

    @Test("An upload is gone by 404, unless something else is")
    func gone() {
        let body = { (code: String) in Data("<Error><Code>\(code)</Code></Error>".utf8) }
        #expect(S3Answer.saysGone(head(404), body("NoSuchUpload")))
        #expect(S3Answer.saysGone(head(404), Data()))
        #expect(!S3Answer.saysGone(head(404), body("NoSuchBucket")))
        #expect(!S3Answer.saysGone(head(410), Data()))
    }

    // MARK: Completing

    @Test(
        "Only a whole result completes",
        arguments: [
            ("<CompleteMultipartUploadResult><ETag>a</ETag></CompleteMultipartUploadResult>", true, true),
            ("   <?xml version='1.0'?> <CompleteMultipartUploadResult/>", true, true),
            ("<CompleteMultipartUploadResponse></CompleteMultipartUploadResponse>", true, true),
            ("<CompleteMultipartUploadResult><ETag>a</ETag>", false, true), ("", false, true), ("   ", false, true),
            ("<Error><Code>InternalError</Code></Error>", false, true),
            ("   <Error><Code>SlowDown</Code>", false, true),
            ("<Error><Code>ServiceUnavailable</Code></Error>", false, true),
            ("<Error><Code>InvalidPart</Code></Error>", false, false), ("<html></html>", false, true),
        ]
    )
    func completion(text: String, isDone: Bool, mayPass: Bool) {
        switch S3Answer.completion(head(200), Data(text.utf8)) {
        case .done: #expect(isDone)
        case .failed(let error):
            #expect(!isDone)
            #expect(error.isTransient == mayPass)
            #expect(error.response?.statusCode == 200)
        }
    }

    @Test("The parts are named in order, their tags as they are")
    func completionBody() {
        let parts: [Int: ResumptionState.Part] = [
            10: .init(entityTag: "\"c\""), 2: .init(entityTag: "\"a<&>\""), 1: .init(entityTag: "x"),
        ]
        let text = String(decoding: S3Answer.completionBody(parts), as: UTF8.self)
        let expected =
            #"<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">"#
            + "<Part><PartNumber>1</PartNumber><ETag>x</ETag></Part>"
            + "<Part><PartNumber>2</PartNumber><ETag>\"a&lt;&amp;&gt;\"</ETag></Part>"
            + "<Part><PartNumber>10</PartNumber><ETag>\"c\"</ETag></Part></CompleteMultipartUpload>"
        #expect(text == expected)
    }

    @Test(
        "A list gives parts that are whole, and whether there are more",
        arguments: [
            #"<ListPartsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">"#, "<ListPartsResult>",
            #"<a:ListPartsResult xmlns:a="urn:other">"#, "<ListPartsResponse>",
        ]
    )
    func listing(root: String) throws {
        let name = root.dropFirst().prefix { $0 != " " && $0 != ">" }
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            \(root)<UploadId>u</UploadId>
            <IsTruncated>true</IsTruncated>
            <Part><PartNumber>1</PartNumber><ETag>&quot;a&quot;</ETag><Size>5</Size></Part>
            <Part><PartNumber>2</PartNumber><ETag></ETag><Size>5</Size></Part>
            <Part><PartNumber>x</PartNumber><ETag>b</ETag><Size>5</Size></Part>
            <Part><PartNumber>4</PartNumber><ETag>b</ETag><Size>-5</Size></Part>
            </\(name)>
            """
        let listing = try S3Answer.listing(head(200), Data(text.utf8))
        #expect(listing.isTruncated)
        #expect(listing.parts == [S3Answer.ListedPart(number: 1, entityTag: "\"a\"", size: 5)])
        #expect(listingError(String(text.dropLast(3)))?.isTransient == true)
        let empty = try S3Answer.listing(head(200), Data("<\(name)/>".utf8))
        #expect(empty == S3Answer.Listing(parts: [], isTruncated: false))
    }

    private func listingError(_ text: String) -> UploadError? {
        do {
            _ = try S3Answer.listing(head(200), Data(text.utf8))
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "The beginning of a list, and an error that may pass, are no list yet",
        arguments: [
            "", " \n", "\u{feff}", "<", "<?xml version='1.0'?>", "<ListPartsRes", "<ListPartsResult><Part>",
            "<Error><Code>Acc", "<Error><Code>InternalError</Code></Error>", "<Error><Code>SlowDown</Code></Error>",
        ]
    )
    func laterListing(text: String) {
        #expect(listingError(text)?.code == .transferFailed)
    }

    @Test(
        "What is no list will never be one",
        arguments: [
            ("<html><body></body></html>", .protocolViolation), ("<ListPartsResults/>", .protocolViolation),
            ("<CompleteMultipartUploadResult/>", .protocolViolation), ("{}", .protocolViolation),
            ("no <ListPartsResult", .protocolViolation), ("<Error></Error>", .unacceptableStatus),
            ("<Error><Code>AccessDenied</Code></Error>", .unacceptableStatus),
        ] as [(String, UploadError.Code)]
    )
    func noListing(text: String, code: UploadError.Code) throws {
        let error = try #require(listingError(text))
        #expect(error.code == code)
        #expect(!error.isTransient)
        #expect(error.response?.statusCode == 200)
    }

    // MARK: Requests

    @Test("A request stays as it was signed, but for a method that nobody has thought of")
    func presigned() {
        #expect(request("http://a.test/", "GET").presigned("PUT").httpMethod == "PUT")
        #expect(request("http://a.test/", "POST").presigned("PUT").httpMethod == "POST")
        let signed = request("http://a.test/", "POST", ["content-type": "a/b"]).presigned("POST", contentType: "c/d")
        #expect(signed.value(forHTTPHeaderField: "Content-Type") == "a/b")
    }
}

@Suite("How a body is cut into the parts of an S3 upload")
struct S3PartPlanTests {
    private static let mib: Int64 = 1 << 20

    @Test(
        "Parts have 8 MiB, or as many MiB as it takes",
        arguments: [
            (1, 8), (5 << 20, 8), (10_000 * 8 << 20, 8), (10_000 * 8 << 20 + 1, 9), (1 << 40, 105), (5 << 40, 525),
        ] as [(Int64, Int64)]
    )
    func usualSize(length: Int64, size: Int64) {
        let plan = S3PartPlan(length: length, partSize: nil)
        #expect(plan.partSize == size * Self.mib)
        #expect(plan.complaint(length: length) == nil)
        #expect(plan.count(length: length) <= S3PartPlan.partLimit)
    }

    @Test("A part has 5 MiB at least")
    func smallest() {
        #expect(S3PartPlan(length: nil, partSize: 1).partSize == 5 * Self.mib)
        #expect(S3PartPlan(length: 1, partSize: .min).partSize == 5 * Self.mib)
    }

    @Test("Bodies that do not fit are refused")
    func complaints() {
        #expect(S3PartPlan(length: .max, partSize: nil).complaint(length: .max)?.code == .bodySizeNotAllowed)
        let many = S3PartPlan(length: 1, partSize: 5 << 20)
        #expect(many.complaint(length: 50_000 * Self.mib) == nil)
        #expect(many.complaint(length: 50_000 * Self.mib + 1)?.code == .bodySizeNotAllowed)
        let large = S3PartPlan(length: 1, partSize: 5 << 30 + 1)
        #expect(large.complaint(length: 5 << 30) == nil)
        #expect(large.complaint(length: 5 << 30 + 1)?.code == .bodySizeNotAllowed)
        #expect(large.complaint(length: nil)?.code == .bodySizeNotAllowed)
        #expect(resumed(partSize: 5).complaint(length: nil)?.code == .bodySizeNotAllowed)
        #expect(resumed(limit: 5 << 30).complaint(length: 8 << 40)?.code == .bodySizeNotAllowed)
    }

    private func resumed(partSize: Int64? = nil, limit: Int64? = nil) -> S3PartPlan {
        S3PartPlan(resumed: ResumptionState(partSize: partSize, partSizeLimit: limit))
    }

    @Test(
        "Parts of a body without a length grow up to the memory limit, and that says how long it may be",
        arguments: [
            (nil, 8, 64, 492), (.min, 5, 5, 48), (7, 7, 7, 68), (8, 8, 8, 78), (24, 8, 24, 210), (64, 8, 64, 492),
            (256, 8, 256, 1492), (1 << 10, 8, 1 << 10, 3992), (.max >> 20, 8, 4 << 10, 7992),
        ] as [(limit: Int64?, first: Int64, last: Int64, gibibytes: Int64)]
    )
    func growing(limit: Int64?, first: Int64, last: Int64, gibibytes: Int64) {
        let plan =
            limit.map { S3PartPlan(length: nil, partSize: nil, memoryLimit: $0 == .min ? .min : $0 << 20) }
            ?? S3PartPlan(length: nil, partSize: nil)
        #expect(plan.partSize == nil)
        #expect(plan.complaint(length: nil) == nil)
        #expect(plan.size(of: 1) == first * Self.mib)
        #expect(plan.size(of: 1000) == first * Self.mib)
        #expect(plan.size(of: 1001) == min(2 * first, last) * Self.mib)
        #expect(plan.size(of: S3PartPlan.partLimit) == last * Self.mib)
        let longest = plan.start(of: S3PartPlan.partLimit + 1)
        #expect(longest >> 30 == gibibytes)
        #expect(plan.complaint(length: longest) == nil)
        #expect(plan.count(length: longest) == S3PartPlan.partLimit)
        #expect(plan.complaint(length: longest + 1)?.code == .bodySizeNotAllowed)
        // Another process cuts in the same places.
        #expect(resumed(limit: plan.growthLimit) == plan)
    }

    @Test(
        "Parts lie next to each other",
        arguments: [(nil, nil), (nil, 5 << 30), (nil, 50_000_000), (5 << 20, nil), (7 << 20 + 1, 5 << 30)]
            as [(Int64?, Int64?)]
    )
    func contiguous(partSize: Int64?, limit: Int64?) {
        let plan = resumed(partSize: partSize, limit: limit)
        for number in 1..<S3PartPlan.partLimit {
            guard plan.start(of: number + 1) == plan.start(of: number) + plan.size(of: number) else {
                Issue.record("part \(number)")
                return
            }
        }
        let length = plan.start(of: 2345) + 1
        #expect(plan.count(length: length) == 2345)
        #expect(plan.range(of: 2345, length: length) == (length - 1)..<length)
        #expect(plan.range(of: 2346, length: length).isEmpty)
        #expect(plan.count(length: length - 1) == 2344)
        #expect(plan.count(length: 0) == 1)
    }

    @Test("No number is too large")
    func extremes() {
        for plan in [resumed(), resumed(limit: .max), resumed(limit: .min), resumed(partSize: .max)] {
            #expect(plan.start(of: .max) > 0)
            #expect(plan.size(of: .min) > 0)
            #expect(!plan.range(of: .max, length: .max).contains(0))
        }
    }
}
