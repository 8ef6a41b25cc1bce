#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Runs work on a new thread with a stack of 512 KiB, and returns its result.
func onSmallStack(_ work: @escaping @Sendable () -> Bool) async -> Bool {
    await withCheckedContinuation { continuation in
        let box = Unmanaged.passRetained(Work { continuation.resume(returning: work()) })
        // Not pthread_attr_t(): the compiler takes it for a part of Dispatch if another file of its batch imports Dispatch.
        let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
        defer { attributes.deallocate() }
        pthread_attr_init(attributes)
        pthread_attr_setstacksize(attributes, 512 * 1_024)
        pthread_attr_setdetachstate(attributes, CInt(PTHREAD_CREATE_DETACHED))
        #if canImport(Darwin)
        var thread: pthread_t?
        let result = pthread_create(
            &thread, attributes,
            {
                Unmanaged<Work>.fromOpaque($0).takeRetainedValue().run(); return nil
            }, box.toOpaque())
        #else
        var thread = pthread_t()
        let result = pthread_create(
            &thread, attributes,
            {
                Unmanaged<Work>.fromOpaque($0!).takeRetainedValue().run(); return nil
            }, box.toOpaque())
        #endif
        precondition(result == 0, "no thread for the test: \(result)")
    }
}

private final class Work: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
