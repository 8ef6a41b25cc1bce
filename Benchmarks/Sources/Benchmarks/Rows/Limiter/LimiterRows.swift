enum LimiterRows {
    static var all: [Row] { uncontended + permits + contended + drained + memory }
}
