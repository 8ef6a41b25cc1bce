#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Whether this process gets the threads and the memory that a command needs.
///
/// What the command is built on doesn't report their lack: Dispatch tries again every second, forever; the C++ parts of Swift's
/// runtime trap. One attempt at the start tells the user which limit to raise. It takes less than a millisecond on a
/// machine with a few processors.
package struct ProcessLimits {
    /// The threads of a command beside the main one, with the stacks that the system gives them by default.
    var threads: Int
    /// The bytes of address space beside these stacks.
    var addressSpace: Int

    /// What a download needs.
    ///
    /// For each processor a thread of Swift's pool; those of transfers, of their name lookups, of the database, of timers, of files
    /// and of descriptors that are waited for. On two processors, eight were counted during eight downloads with a database.
    package static func needed(processors: Int = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) -> ProcessLimits {
        ProcessLimits(threads: 2 * processors + 6, addressSpace: 64 << 20)
    }

    /// Tries to get all of it, and gives it back. Returns what the user is told where that fails.
    package func lack() -> String? {
        Self.saveAddressSpace()
        let stacks = threads * Self.defaultStackSize
        guard Self.canMap(addressSpace + stacks) else {
            return """
                this process needs \((addressSpace + stacks) >> 20) MiB of address space more than its limit leaves; raise the \
                limit with ulimit -v (in systemd: LimitAS=)
                """
        }
        let started = Self.start(threads)
        guard started == threads else {
            return """
                this process needs \(threads) threads, of which its limit leaves \(started); raise the limit with ulimit -u \
                (in systemd: LimitNPROC= and TasksMax=; in a container: its limit of processes)
                """
        }
        return nil
    }

    /// Where address space is limited, keeps the allocator from reserving 64 MiB of it for each thread (mallopt(3)): what it
    /// takes is missing for the stacks of later threads.
    private static func saveAddressSpace() {
        #if canImport(Glibc)
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0, limit.rlim_cur != rlim_t.max,
            let address = dlsym(nil, "mallopt")
        else { return }
        // Swift doesn't see <malloc.h>, in which M_ARENA_MAX is -8.
        _ = unsafeBitCast(address, to: (@convention(c) (Int32, Int32) -> Int32).self)(-8, 1)
        #endif
    }

    // MARK: Attempts

    private static var defaultStackSize: Int {
        var attributes = pthread_attr_t()
        var size = 0
        guard pthread_attr_init(&attributes) == 0 else { return 8 << 20 }
        defer { pthread_attr_destroy(&attributes) }
        return pthread_attr_getstacksize(&attributes, &size) == 0 ? size : 8 << 20
    }

    /// Whether so many bytes of address space are free (mmap(2)). Nothing is in them: no memory is used.
    private static func canMap(_ bytes: Int) -> Bool {
        #if os(Linux)
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        #else
        let flags = MAP_PRIVATE | MAP_ANON
        #endif
        guard let start = mmap(nil, bytes, PROT_NONE, flags, -1, 0), start != MAP_FAILED else { return false }
        munmap(start, bytes)
        return true
    }

    /// Starts up to so many threads that exist concurrently, ends them, and returns how many there were (pthread_create(3)).
    private static func start(_ count: Int) -> Int {
        // They wait for this until the last one exists.
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        defer { mutex.deallocate() }
        guard pthread_mutex_init(mutex, nil) == 0 else { return 0 }
        defer { pthread_mutex_destroy(mutex) }
        pthread_mutex_lock(mutex)
        #if canImport(Darwin)
        var threads: [pthread_t?] = []
        #else
        var threads: [pthread_t] = []
        #endif
        while threads.count < count {
            #if canImport(Darwin)
            var thread: pthread_t?
            #else
            var thread = pthread_t()
            #endif
            let result = pthread_create(
                &thread, nil,
                { argument in
                    #if canImport(Darwin)
                    let mutex = argument.assumingMemoryBound(to: pthread_mutex_t.self)
                    #else
                    let mutex = argument!.assumingMemoryBound(to: pthread_mutex_t.self)
                    #endif
                    pthread_mutex_lock(mutex)
                    pthread_mutex_unlock(mutex)
                    return nil
                }, mutex)
            guard result == 0 else { break }
            threads.append(thread)
        }
        pthread_mutex_unlock(mutex)
        #if canImport(Darwin)
        for thread in threads { if let thread { pthread_join(thread, nil) } }
        #else
        for thread in threads { pthread_join(thread, nil) }
        #endif
        return threads.count
    }
}
