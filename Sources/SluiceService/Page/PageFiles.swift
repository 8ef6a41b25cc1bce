import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The files of the page, which are part of the program.
struct PageFiles: Sendable {
    static let style = PageFiles(withoutComments(PackageResources.queue_css), type: "text/css; charset=utf-8")
    static let script = PageFiles(withoutComments(PackageResources.queue_js), type: "text/javascript; charset=utf-8")
    static let icon = PageFiles(PackageResources.icon_svg, type: "image/svg+xml")
    static let description = PageFiles(PackageResources.openapi_json, type: "application/json")

    private let data: Data
    private let type: String
    private let tag: String

    private init(_ bytes: [UInt8], type: String) {
        data = Data(bytes)
        self.type = type
        // FNV-1a. Only a new version of the program has other bytes.
        let hash = bytes.reduce(14_695_981_039_346_656_037 as UInt64) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
        tag = "\"\(String(hash, radix: 36))\""
    }

    /// Drops indentation and the lines with comments, which browsers don't need.
    private static func withoutComments(_ bytes: [UInt8]) -> [UInt8] {
        let lines = bytes.split(separator: 10).map { $0.drop { $0 == 32 } }
        return Array(lines.filter { !$0.starts(with: "//".utf8) }.joined(separator: [10]))
    }

    /// A browser asks whether its copy is still right.
    func response(to request: PageRequest) -> QueuePage.Response {
        let fields: HTTPFields = [.eTag: tag, .cacheControl: "no-cache"]
        if request.head.headerFields[.ifNoneMatch] == tag {
            var response = QueuePage.Response(.file(Data(), type: type), status: .notModified, headerFields: fields)
            response.head.headerFields[.contentType] = nil
            return response
        }
        return QueuePage.Response(.file(data, type: type), headerFields: fields)
    }
}
