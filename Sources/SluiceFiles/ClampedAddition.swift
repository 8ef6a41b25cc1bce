extension FixedWidthInteger {
    /// The sum, or the nearest number that fits. A file with holes may have 2^63 - 1 bytes, and a length from a server or a number in a shared
    /// database may be anything.
    package func addingClamped(_ other: Self) -> Self {
        let (sum, isTooLarge) = addingReportingOverflow(other)
        return isTooLarge ? (other > 0 ? .max : .min) : sum
    }
}
