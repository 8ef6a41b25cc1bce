/// In what order values leave a ``MemoryCache``: SIEVE (Zhang et al., NSDI 2024), which knows values by numbers only.
///
/// ```text
/// oldest ──────────────────────────────────────► newest
///   A˙      B       C˙      D       E               ˙ asked for since the hand last passed
///           ▲ hand: takes B, clears the mark of C, takes D, …, and begins again at the oldest
/// ```
///
/// A slot that was freed is used again, so that the numbers stay below the greatest count that there has been. All
/// operations take constant time but ``nextVictim()``, whose steps beyond the first each clear a mark.
struct SieveQueue {
    /// The sum of the costs.
    private(set) var cost = 0

    /// A list in both directions, linked by index. Free slots form a list of their own, linked by `newer`.
    private var slots: [Slot] = []
    private var firstFree: Int?
    private var oldest: Int?
    private var newest: Int?

    /// The next to be looked at when room is needed; nil means the oldest.
    private var hand: Int?

    private struct Slot {
        var cost: Int
        var isMarked: Bool
        var older: Int?
        var newer: Int?
    }

    /// Takes a value in as the newest, and says what slot it has.
    mutating func append(cost: Int, isMarked: Bool) -> Int {
        let new = Slot(cost: cost, isMarked: isMarked, older: newest, newer: nil)
        let slot: Int
        if let free = firstFree {
            slot = free
            firstFree = slots[free].newer
            slots[free] = new
        } else {
            slot = slots.count
            slots.append(new)
        }
        if let newest { slots[newest].newer = slot } else { oldest = slot }
        newest = slot
        self.cost += cost
        return slot
    }

    /// Notes that the value was asked for.
    mutating func mark(_ slot: Int) {
        slots[slot].isMarked = true
    }

    /// Moves the hand to the first value without a mark, clearing marks on the way. It stays until it is removed.
    ///
    /// - Returns: its slot, nil in an empty queue. After one round at most there is one without a mark.
    mutating func nextVictim() -> Int? {
        guard let oldest else { return nil }
        var slot = hand ?? oldest
        while slots[slot].isMarked {
            slots[slot].isMarked = false
            slot = slots[slot].newer ?? oldest
        }
        hand = slot
        return slot
    }

    mutating func remove(_ slot: Int) {
        let removed = slots[slot]
        if let older = removed.older { slots[older].newer = removed.newer } else { oldest = removed.newer }
        if let newer = removed.newer { slots[newer].older = removed.older } else { newest = removed.older }
        if hand == slot { hand = removed.newer }
        cost -= removed.cost
        slots[slot] = Slot(cost: 0, isMarked: false, older: nil, newer: firstFree)
        firstFree = slot
    }
}
