import NativeMark
import SluiceDownloads
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One run of `sluice get --dry-run`.
struct GetPreview: Sendable {
    let options: GetOptions
    let console: Console

    func run() async throws -> ExitStatus {
        let plan = try await GetPlan(options)
        for note in plan.notes { await console.report(note) }
        var configuration = options.transfers.coordinator
        configuration.records = options.records.map { DownloadRecords(in: $0) }
        let downloads = DownloadCoordinator(configuration: configuration)
        var statuses: [ExitStatus] = []
        for (request, preview) in zip(plan.requests, await downloads.previews(of: plan.requests)) {
            let path = request.target.path(percentEncoded: false)
            let text: String
            switch preview {
            case .download: text = "download"
            case .resume: text = "continue"
            case .verify: text = "verify"
            case .skip: text = "skip"
            case .fail(let error):
                text = "fail"
                statuses.append(ExitStatus(error))
                let event = DownloadEvent.finished(download: nil, outcome: .failed(error)).namingOptions
                if case .finished(_, .failed(let named)) = event { await console.report("\(named)") }
            }
            await console.write(
                TerminalText.sanitized("\(text)  \(path)  from \(request.url.redactedForDisplay)") + "\n", to: .output)
        }
        try await downloads.close()
        return .worst(of: statuses)
    }
}
