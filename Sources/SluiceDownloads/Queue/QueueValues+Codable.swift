import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// MARK: - Requests

extension DownloadRequest: Codable {
    private enum CodingKeys: String, CodingKey {
        case url, directory, name, user, priority, checksum, mirrors
    }

    /// Encodes the request without its ``headerFields``. The URL is encoded unchanged, so it may contain secrets.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        // As text, because encoders other than `JSONEncoder` encode a URL as two parts.
        try container.encode(url.absoluteString, forKey: .url)
        try container.encode(directory.absoluteString, forKey: .directory)
        try container.encode(name, forKey: .name)
        try container.encodeIfPresent(user, forKey: .user)
        try container.encode(priority, forKey: .priority)
        try container.encodeIfPresent(checksum?.description, forKey: .checksum)
        if !mirrors.isEmpty { try container.encode(mirrors.map(\.absoluteString), forKey: .mirrors) }
    }

    /// Decodes a request without header fields. A name that isn't safe is made safe.
    ///
    /// - Throws: `DecodingError` if a value is missing or isn't a URL, or if the directory is neither a file URL nor a safe relative one, or if
    ///   the checksum isn't one. The message doesn't repeat a URL, which may contain a secret.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let url = try container.url(forKey: .url)
        guard let directory = TargetDirectory.of(try container.url(forKey: .directory)) else {
            throw DecodingError.dataCorruptedError(
                forKey: .directory, in: container,
                debugDescription: "The directory is neither a file URL nor a safe relative directory.")
        }
        self.init(
            url, directory, name: try container.decodeIfPresent(String.self, forKey: .name),
            user: try container.decodeIfPresent(String.self, forKey: .user),
            priority: try container.decodeIfPresent(Int.self, forKey: .priority) ?? 0)
        mirrors = try (container.decodeIfPresent([String].self, forKey: .mirrors) ?? []).map { text in
            guard let mirror = URL(string: text) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .mirrors, in: container, debugDescription: "A mirror isn't a URL.")
            }
            return mirror
        }
        guard let text = try container.decodeIfPresent(String.self, forKey: .checksum) else { return }
        guard let checksum = Checksum(text) else {
            throw DecodingError.dataCorruptedError(
                forKey: .checksum, in: container, debugDescription: "The text isn't a checksum.")
        }
        self.checksum = checksum
    }
}

extension KeyedDecodingContainer {
    /// The message doesn't repeat the text, which may contain a secret.
    fileprivate func url(forKey key: Key) throws -> URL {
        guard let url = URL(string: try decode(String.self, forKey: key)) else {
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "The text isn't a URL.")
        }
        return url
    }
}

// MARK: - Downloads

extension QueuedDownload: Codable {
    private enum CodingKeys: String, CodingKey {
        case id, request, members, state, failureCount, fileSize, error, notBefore, isCancelling
    }

    /// Encodes the download, with the parts of its error that a queue keeps. The URL is encoded unchanged, so it may contain secrets.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(request, forKey: .request)
        try container.encode(members, forKey: .members)
        try container.encode(state, forKey: .state)
        try container.encode(failureCount, forKey: .failureCount)
        try container.encodeIfPresent(fileSize, forKey: .fileSize)
        try container.encodeIfPresent(error.map(StoredError.init), forKey: .error)
        try container.encodeIfPresent(notBefore, forKey: .notBefore)
        if isCancelling { try container.encode(true, forKey: .isCancelling) }
    }

    /// Decodes a download.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let request = try container.decode(DownloadRequest.self, forKey: .request)
        self.init(
            id: try container.decode(ID.self, forKey: .id), request: request,
            members: try container.decode([Member].self, forKey: .members),
            state: try container.decode(State.self, forKey: .state),
            failureCount: try container.decode(Int.self, forKey: .failureCount),
            fileSize: try container.decodeIfPresent(Int64.self, forKey: .fileSize),
            error: try container.decodeIfPresent(StoredError.self, forKey: .error)?.error(of: request.url),
            notBefore: try container.decodeIfPresent(Date.self, forKey: .notBefore))
        isCancelling = try container.decodeIfPresent(Bool.self, forKey: .isCancelling) ?? false
    }
}
