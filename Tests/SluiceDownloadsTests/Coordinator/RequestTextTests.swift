import Foundation
import HTTPTypes
import SluiceDownloads
import Testing

@Suite struct `A download request as text` {
    @Test func `has no secret`() {
        let request = DownloadRequest(
            URL(string: "https://ann:pass-Secret@a.example/b.mp3?sig=query-Secret#frag-Secret")!,
            to: URL(filePath: "/music", directoryHint: .isDirectory),
            headerFields: [.authorization: "Bearer bear-Secret", .accept: "audio/*"], user: "ann 7")
        #expect("\(request)" == "https://a.example/b.mp3?… to /music/b.mp3")
        var dumped = ""
        dump([request], to: &dumped)
        for text in [dumped, "\([request])", String(reflecting: request)] {
            #expect(!text.contains("Secret"), "\(text)")
        }
        #expect(dumped.contains("audio/*") && dumped.contains("ann 7"))
    }
}
