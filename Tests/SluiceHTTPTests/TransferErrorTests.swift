import Foundation
import HTTPTypes
import SluiceHTTP
import Testing

@Suite struct `An error of a transfer` {
    private let url = URL(string: "https://user:pw@example.com/a?token=1#x")!

    @Test func `names the subject, the failure and the remedy on one line`() {
        let refused = TransferError(.connectionRefused, url: url)
        #expect(
            "\(refused)" == "https://example.com/a?…: The connection was refused. "
                + "Check that a server listens on port 443 of the host.")
        var busy = TransferError(status: .serviceUnavailable, url: url)
        busy.attempts = 3
        #expect(
            "\(busy)" == "https://example.com/a?…: The server answered 503 Service Unavailable. There were 3 attempts. "
                + "Try again later, with fewer concurrent requests.")
    }

    @Test func `uses the standard reason phrase, not the server's`() {
        let text = String(repeating: "token 123 ", count: 1000)
        let error = TransferError(status: .init(code: 404, reasonPhrase: text), url: url)
        #expect(error.message == "The server answered 404 Not Found.")
        #expect(
            TransferError(status: .init(code: 599, reasonPhrase: text), url: url).message.hasSuffix("answered 599."))
    }

    @Test func `truncates a long text from the server`() {
        let error = TransferError(.protocolViolation, url: url, detail: String(repeating: "\u{1F600}", count: 100_000))
        #expect(
            error.message
                == "The server's response isn't valid HTTP (\(String(repeating: "\u{1F600}", count: 125))…).")
    }

    @Test func `includes the remedy in its localized description`() {
        let error = TransferError(.tlsFailed, url: url, detail: "the certificate has expired")
        #expect((error as any Error).localizedDescription == error.description)
        #expect(error.failureReason == "Couldn't establish a secure connection (the certificate has expired).")
        #expect(error.recoverySuggestion == error.remedy && error.remedy?.isEmpty == false)
    }

    @Test func `is compared without its cause`() {
        struct Cause: Error {}
        var one = TransferError(.stalled, url: url, cause: Cause())
        let other = TransferError(.stalled, url: url)
        #expect(one == other && one.hashValue == other.hashValue && one.cause is Cause)
        one.attempts = 2
        #expect(one != other)
        #expect(TransferError(.stalled, url: url, detail: "for 30 s") != other)
        #expect(TransferError(status: .notFound, url: url) != TransferError(status: .gone, url: url))
        #expect(Set([TransferError.Code.stalled, .stalled, .shutDown]).count == 2)
    }

    @Test func `is transient if its code or status is`() {
        #expect(TransferError(.stalled, url: url).isTransient)
        #expect(TransferError(status: .tooManyRequests, url: url).isTransient)
        #expect(!TransferError(status: .notFound, url: url).isTransient)
    }
}
