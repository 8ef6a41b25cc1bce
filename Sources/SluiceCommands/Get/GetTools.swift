import SluiceDownloads
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a run of `sluice get` works with.
struct GetTools: Sendable {
    let contents: RequestContents
    let cookies: CookieJar?
    /// The names that servers have sent, by the position of the request; `nil` unless they are used.
    let served: QueueNames?
    let reporter: any ProgressReporter
    /// The program that runs for each file.
    let completion: CompletionProgram?

    func note(_ event: DownloadEvent, of index: Int, _ request: DownloadRequest) {
        if case .named(_, let file) = event { served?[index] = file.lastPathComponent }
        reporter.report(index, event.namingOptions)
        guard let completion, case .finished(_, .done(let size)) = event else { return }
        var request = request
        if let served { request.name = served[index] }
        completion.note(request, size: size)
    }
}
