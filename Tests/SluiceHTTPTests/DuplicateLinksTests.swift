import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import SluiceHTTP

@Suite struct `Duplicates of a file` {
    private func urls(_ fields: String..., of url: String = "https://a.example/dir/file") -> [String] {
        var all = HTTPFields()
        for field in fields { all.append(HTTPField(name: HTTPField.Name("Link")!, value: field)) }
        return DuplicateLinks.urls(in: all, of: URL(string: url)!).map(\.absoluteString)
    }

    @Test func `are named by Link fields, by priority`() {
        #expect(
            urls(
                "<https://b.example/f>; rel=duplicate; pri=2; geo=us, <https://c.example/f>;rel=\"duplicate\";pri=1",
                "<https://d.example/f>; REL=Duplicate")
                == ["https://c.example/f", "https://b.example/f", "https://d.example/f"])
        #expect(urls("<../f>; rel=\"other duplicate\"") == ["https://a.example/f"])
        #expect(
            urls("<https://b.example/a,b;c>; title=\"x, \\\"y\\\"; rel=no\"; rel=duplicate") == [
                "https://b.example/a,b;c"
            ])
    }

    @Test(arguments: [
        "<https://b.example/f>", "<https://b.example/f>; rel=describedby", "https://b.example/f; rel=duplicate",
        "<https://b.example/f", "<ftp://b.example/f>; rel=duplicate", "<http://b.example/f>; rel=duplicate",
        "<https://a.example/dir/file>; rel=duplicate", "<https://b.example/f>; rel=next; rel=duplicate", "", ";,;",
        "<>",
        "<https://b.example/f>; rel=\"dup", "<>; rel=duplicate;",
    ]) func `are only what can be requested`(field: String) {
        #expect(urls(field) == [])
    }

    @Test func `of a file with http may have http`() {
        #expect(urls("<http://b.example/f>; rel=duplicate", of: "http://a.example/f") == ["http://b.example/f"])
    }

    @Test func `are bounded, and each counts once`() {
        let many = (0..<1000).map { "<https://b\($0).example/>; rel=duplicate" }.joined(separator: ", ")
        #expect(urls(many).count == DuplicateLinks.maximumCount)
        #expect(urls(many, many).count == DuplicateLinks.maximumCount)
        #expect(urls("<https://b.example/>; rel=duplicate, <https://b.example/>; rel=duplicate").count == 1)
    }

    @Test func `in random fields are read without a trap`() {
        var random = SeededRandom(seed: 1)
        let pieces = [
            "<", ">", ";", ",", "rel", "=", "duplicate", "\"", "\\", " ", "https://b.example/", "pri", "-1", "9e9", "é",
        ]
        for _ in 0..<5000 {
            let text = (0..<Int.random(in: 0...12, using: &random)).map { _ in pieces.randomElement(using: &random)! }
                .joined()
            _ = urls(text)
        }
    }
}
