extension StyleSheet {
    /// The sheets that are part of the library, by their names in `sluice show --style` and in the `base` of JSON.
    ///
    ///     StyleSheet.named["github"]         // StyleSheet.github
    ///     StyleSheet.named.keys.sorted()     // ["default", "github"]
    public static let named: [String: StyleSheet] = [
        "default": .default,
        "github": .github,
    ]
}
