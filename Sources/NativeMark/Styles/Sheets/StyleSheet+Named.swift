extension StyleSheet {
    /// The sheets that are part of the library, by their names in `sluice show --style` and in the `base` of JSON.
    ///
    ///     StyleSheet.named["github"]         // StyleSheet.github
    ///     StyleSheet.named.keys.sorted()     // ["default", "dracula", "github", "gruvbox", "nord", "solarized"]
    public static let named: [String: StyleSheet] = [
        "default": .default,
        "dracula": .dracula,
        "github": .github,
        "gruvbox": .gruvbox,
        "nord": .nord,
        "solarized": .solarized,
    ]
}
