#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension StyledText.Link {
    /// The default schemes that a tap may open: `http`, `https` and `mailto`.
    public static let openSchemes: Set<String> = ["http", "https", "mailto"]

    /// Returns the destination as a URL if its scheme is one of `schemes`.
    ///
    ///     StyledText.Link(destination: "HTTPS://example.com", title: nil).url()     // a URL
    ///     StyledText.Link(destination: "settings:audio", title: nil).url()          // nil
    ///     link.url(schemes: StyledText.Link.openSchemes.union(["settings"]))
    ///
    /// Documents aren't trusted, and a scheme may start another app or call a number. A destination without a scheme has no meaning
    /// outside a web page, so the result is `nil`.
    public func url(schemes: Set<String> = openSchemes) -> URL? {
        guard let colon = destination.firstIndex(of: ":"),
            schemes.contains(destination[..<colon].lowercased())
        else { return nil }
        return URL(string: destination)
    }
}
