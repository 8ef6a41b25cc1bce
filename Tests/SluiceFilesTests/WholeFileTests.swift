import Foundation
import SluiceFiles
import Testing

@Suite struct `Whole files` {
    @Test func `what was written is read back`() async throws {
        try await FileIO.shared.withTemporaryDirectory { folder in
            let url = folder.appending(path: "file")
            let data = Data("hello".utf8)
            try await data.asyncWrite(to: url)
            #expect(try await Data(asyncContentsOf: url) == data)
        }
    }
}
