// refused: risks causing data races
func sample(_ broadcast: Broadcast<Int, Never>) async {
    let iterator = broadcast.subscribe().makeAsyncIterator()
    let task = Task {
        var other = iterator
        _ = await other.next()
    }
    var own = iterator
    _ = await own.next()
    await task.value
}
