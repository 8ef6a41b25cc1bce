/// Every scenario, in the order of the table. A new group adds its line here, a new scenario one to its group.
enum Catalogue {
    static var scenarios: [Scenario] {
        ConditionScenarios.all + PromiseScenarios.all + QueueScenarios.all + BoundedQueueScenarios.all
            + LimiterScenarios.all
            + KeyedLimiterScenarios.all + RateLimiterScenarios.all + BroadcastScenarios.all + SingleFlightScenarios.all
            + MemoryScenarios.all
    }
}
