import AsyncUpload
import Testing

@Test func twoKindsOfEvents() {
    #expect(UploadEvent.response(nil) != .progress(1))
}
