/// Every scenario, in the order of the table. A new group adds a line here, and a new scenario adds one to its group.
enum Catalog {
    static var scenarios: [Scenario] {
        ConditionScenarios.all + PromiseScenarios.all + QueueScenarios.all + BoundedQueueScenarios.all
            + LimiterScenarios.all
            + KeyedLimiterScenarios.all + RateLimiterScenarios.all + BroadcastScenarios.all + SharedScenarios.all
            + SingleFlightScenarios.all + LazyScenarios.all + MemoryScenarios.all
    }
}
