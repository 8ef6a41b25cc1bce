enum LimiterRows {
    static var all: [Row] { uncontended + contended + drained }
}
