import HTTPTypes

extension HTTPFields {
    /// The fields without the ones that are only for the next recipient (RFC 9110, section 7.6.1).
    var withoutConnectionFields: HTTPFields {
        let removed = Self.aboutConnection.union(namesInConnection)
        return HTTPFields(
            filter { !removed.contains($0.name.canonicalName) && !$0.name.canonicalName.hasPrefix("proxy-") })
    }

    /// The members of `Connection`, in lowercase.
    var namesInConnection: Set<String> {
        let members = self[values: .connection].flatMap { $0.split(separator: ",") }.map { member in
            String(member.drop(while: \.isWhitespace).prefix(while: { !$0.isWhitespace })).lowercased()
        }
        return Set(members)
    }

    private static let aboutConnection: Set = [
        "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
    ]
}

extension HTTPField.Name {
    static let host = Self("Host")!
    static let via = Self("Via")!
}
