/// The order in which values are evicted from a ``MemoryCache``: SIEVE (Zhang et al., NSDI 2024). It knows values by their slot only.
///
/// ```text
/// oldest ──────────────────────────────────────► newest
///   A˙      B       C˙      D       E               ˙ marked: used since the hand last passed
///           ▲ hand: evicts B, clears the mark of C, evicts D, …, and starts again at the oldest
/// ```
///
/// Freed slots are reused, so slot numbers stay below the largest count so far. All operations take constant time except
/// ``nextVictim()``, whose steps beyond the first each clear a mark.
@usableFromInline
struct SieveQueue {
    private(set) var cost = 0

    /// A doubly linked list, linked by index. Free slots form a second list, linked by `newer`.
    @usableFromInline var slots: [Slot] = []
    private var firstFree: Int?
    private var oldest: Int?
    private var newest: Int?

    /// The slot to examine next when room is needed. `nil` means the oldest.
    private var hand: Int?

    @usableFromInline
    struct Slot {
        var cost: Int
        @usableFromInline var isMarked: Bool
        var older: Int?
        var newer: Int?
    }

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

    @inlinable
    mutating func mark(_ slot: Int) {
        // Most are marked already, and a check for a unique array would be needed.
        if !slots[slot].isMarked { slots[slot].isMarked = true }
    }

    /// Moves the hand to the first value without a mark, clears marks on the way, and returns the value's slot, or `nil` if the queue is
    /// empty. The search ends after one round at most, because it clears all marks.
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
