#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension DownloadCoordinator {
    /// The directory of relative targets.
    var directory: URL { (configuration.directory ?? .currentDirectory()).absoluteURL }

    /// The requests with absolute targets, as this process downloads them.
    func resolved(_ requests: [DownloadRequest]) -> [DownloadRequest] {
        guard requests.contains(where: \.isRelative) else { return requests }
        let directory = directory
        return requests.map { $0.resolved(in: directory) }
    }
}
