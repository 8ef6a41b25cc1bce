#if PostgreSQL
internal import SluiceDownloads

extension QueueStoreError {
    /// Converts an error, with its message and its remedy.
    init(_ error: PostgresError) {
        let code: Code =
            switch error.code {
            // During a failover, a server can be read before it can be written.
            case .cannotConnect, .unavailable, .connectionLost, .outcomeUnknown, .readOnly: .unavailable
            case .serializationFailure, .deadlock, .timedOut: .busy
            case .full: .full
            case .loginRefused, .notPermitted: .notWritable
            case .invalidURL, .unknownDatabase, .unexpectedValue, .constraintViolated: .unusable
            case .newerVersion: .newerVersion
            case .closed: .closed
            default: .other
            }
        self.init(code, subject: error.subject, message: error.message, remedy: error.remedy, cause: error)
    }

    /// Whether the operation may have been carried out.
    var isUnknownOutcome: Bool { (cause as? PostgresError)?.code == .outcomeUnknown }
}

extension PostgresError {
    /// A value that another program has written.
    static func unreadable(_ what: String) -> PostgresError {
        PostgresError(
            .unexpectedValue, subject: what, message: "The value can't be read.",
            remedy: "Check that no other program has changed the tables.")
    }
}
#endif
