import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `A name from the server` {
    private static let large = bytes(600_000)

    private static func response(_ request: OriginRequest, _ field: String?) -> OriginResponse {
        var fields = HTTPFields()
        fields[.contentDisposition] = field
        guard request.target.hasPrefix("/large") else { return OriginResponse(headerFields: fields, body: [1]) }
        return .file(large, etag: "\"v\"", request: request).adding(fields)
    }

    /// Downloads targets whose responses have these `Content-Disposition` fields. Returns the results and the names in the directory.
    private static func download(
        _ fields: [String: String], targets: [String], existing: ExistingFile = .fail, files present: [String] = []
    ) async throws -> (results: [String], names: [String]) {
        let found = Guarded<(results: [String], names: [String])>(([], []))
        try await downloading { request in
            response(request, fields[request.target])
        } during: { downloader, origin, directory in
            for name in present { try Data("old".utf8).write(to: directory.appending(path: name)) }
            var downloader = downloader
            downloader.configuration.takesServerNames = true
            downloader.configuration.existing = existing
            downloader.limits.total = 1
            let requests = try targets.map { DownloadRequest(try URL(fetchable: origin.url($0)), to: directory) }
            let summary = try await downloader.run(requests)
            let results = summary.results.map { result in
                switch result {
                case .done(let file): "done \(file.lastPathComponent)"
                case .skipped(let file): "skipped \(file.lastPathComponent)"
                case .failed(let error): "\(error.code)"
                default: "\(result)"
                }
            }
            for name in present where existing != .replace {
                #expect(try Data(contentsOf: directory.appending(path: name)) == Data("old".utf8))
            }
            let names = try names(in: directory)
            found.withLock { $0 = (results, names) }
        }
        return found.withLock { $0 }
    }

    @Test(arguments: ["/small", "/large"]) func `is the file's, whatever its size`(target: String) async throws {
        let (results, names) = try await Self.download(
            [target: "attachment; filename=\"x.txt\"; filename*=UTF-8''%e2%82%ac.txt"], targets: [target, "/other"])
        #expect(results == ["done €.txt", "done other"])
        #expect(Set(names) == ["€.txt", "other"])
    }

    @Test(arguments: ["/small", "/large"])
    func `gets the server's time, and a file with the request's name keeps its own`(target: String) async throws {
        try await downloading { request in
            let response =
                request.target == "/small"
                ? OriginResponse(body: [1]) : .file(Self.large, etag: "\"v\"", request: request)
            return response.adding([
                .contentDisposition: "attachment; filename=x", .lastModified: "Sun, 06 Nov 1994 08:49:37 GMT",
            ])
        } during: { downloader, origin, directory in
            let request = DownloadRequest(try URL(fetchable: origin.url(target)), to: directory)
            try Data("old".utf8).write(to: request.target)
            let before = try await FileIO.shared.status(of: request.target)?.modificationTime
            var downloader = downloader
            (downloader.configuration.takesServerNames, downloader.configuration.keepsServerTime) = (true, true)
            #expect(try await downloader.run([request]).doneCount == 1)
            let named = try await FileIO.shared.status(of: directory.appending(path: "x"))
            #expect(named?.modificationTime == FileTime(seconds: 784_111_777))
            #expect(try await FileIO.shared.status(of: request.target)?.modificationTime == before)
        }
    }

    @Test(
        arguments: [
            ("attachment; filename=\"../../etc/passwd\"", "passwd"), ("attachment; filename=\"/etc/shadow\"", "shadow"),
            ("attachment; filename=\"..\\\\..\\\\x.exe\"", "x.exe"), ("attachment; filename=\".bashrc\"", "bashrc"),
            ("attachment; filename*=UTF-8''%2e%2e%2f%2e%2e%2fx", "x"), ("attachment; filename=\"..\"", "small"),
            ("attachment; filename*=UTF-8''a%00b%0d%0a", "ab"), ("attachment; filename=\"\"", "small"),
            ("attachment; filename=\"a.sluice.part\"", "small"), ("attachment; filename=\"a.SLUICE.json\"", "small"),
            ("attachment; filename=\".sluice-1\"", "sluice-1"), ("inline", "small"), ("\u{FF}\u{FE}", "small"),
            ("attachment; filename*=UTF-8''%E2%80%AEgpj.exe", "gpj.exe"),
        ] as [(String, String)])
    func `that is hostile stays in the directory`(field: String, expected: String) async throws {
        let (results, names) = try await Self.download(["/small": field], targets: ["/small"])
        #expect(results == ["done \(expected)"] && names == [expected])
    }

    @Test func `with thousands of bytes is cut`() async throws {
        let long = String(repeating: "n", count: 5000)
        let (results, names) = try await Self.download(
            ["/small": "attachment; filename=\"\(long).txt\""], targets: ["/small"])
        #expect(results.count == 1 && names.first?.utf8.count == 255 && names.first?.hasSuffix("n.txt") == true)
    }

    @Test(
        arguments: [
            ("/small", ExistingFile.fail, "fileExists"), ("/large", .fail, "fileExists"),
            ("/small", .skip, "skipped taken"), ("/large", .skip, "skipped taken"),
            ("/small", .replace, "done taken"), ("/large", .replace, "done taken"),
        ] as [(String, ExistingFile, String)])
    func `never replaces a file unless asked`(target: String, existing: ExistingFile, expected: String) async throws {
        let (results, names) = try await Self.download(
            [target: "attachment; filename=taken"], targets: [target], existing: existing, files: ["taken"])
        #expect(results == [expected])
        #expect(names.contains("taken") && !names.contains(String(target.dropFirst())))
    }

    @Test func `of two downloads goes to the first`() async throws {
        let field = "attachment; filename=same"
        let (results, names) = try await Self.download(["/a": field, "/b": field], targets: ["/a", "/b"])
        #expect(results == ["done same", "fileExists"] && names == ["same"])
    }

    @Test func `doesn't matter for a file with the URL's name`() async throws {
        let (results, names) = try await Self.download(
            ["/small": "attachment; filename=new"], targets: ["/small"], files: ["small"])
        #expect(results == ["done new"] && names == ["new", "small"])
    }

    @Test func `is reported before the bytes, and again after a retry`() async throws {
        try await downloading { request in
            var response = Self.response(request, "attachment; filename=b")
            if request.attempt == 1 { response.steps = [.send(Array(Self.large.prefix(300_000))), .hangUp] }
            return response
        } during: { downloader, origin, directory in
            var downloader = downloader
            downloader.configuration.takesServerNames = true
            let names = Recorder<String>()
            let request = DownloadRequest(try URL(fetchable: origin.url("/large")), to: directory)
            let summary = try await downloader.run([request]) { _, event in
                if case .named(_, let file) = event { names.note(file.lastPathComponent) }
            }
            #expect(summary.isComplete && names.values == ["b", "b"])
            #expect(try Data(contentsOf: directory.appending(path: "b")) == Data(Self.large))
        }
    }
}

extension OriginResponse {
    fileprivate func adding(_ fields: HTTPFields) -> OriginResponse {
        var response = self
        response.headerFields.append(contentsOf: fields)
        return response
    }
}
