// error: risks causing data races
func use(_ broadcast: Broadcast<Int, Never>) async {
    let iterator = broadcast.subscribe().makeAsyncIterator()
    let task = Task {
        var other = iterator  // refused
        // instead: var other = broadcast.subscribe().makeAsyncIterator()
        _ = await other.next()
    }
    var own = iterator
    _ = await own.next()
    await task.value
}
