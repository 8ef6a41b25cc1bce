#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package enum SluiceProcess {
    /// Runs the command that the arguments name, and ends the process with its status.
    ///
    /// The main thread only waits for signals, so that a signal can end the process even if the system has no thread left.
    package static func run(_ arguments: [String]) -> Never {
        // The order matters: signals must be blocked before there is another thread, and the standard streams must be open before any file
        // is.
        let signals = ProcessSignals.block()
        guard StandardStreams.openClosed() else { ProcessTerminal.exitImmediately(.other) }
        ProcessTerminal.ignoreBrokenPipes()
        if let lack = ProcessLimits.needed().lack() {
            ProcessTerminal.emit(Console.line(lack), to: Console.Stream.error.rawValue)
            ProcessTerminal.exitImmediately(.other)
        }
        let interruption = Interruption()
        signals.endingImmediately {
            Task.detached {
                let status = await SluiceProgram.run(arguments, console: .standard(interruption))
                ProcessTerminal.exitImmediately(status)
            }
        }
        signals.serve(interruption)
    }
}

// MARK: - Standard streams

package enum StandardStreams {
    /// Opens the null device on each standard stream that the parent process closed. Returns whether all three streams are open.
    ///
    /// Otherwise the next file or socket would get the number of that stream (open(2)), and messages could be written into a download. The
    /// null device is opened in the wrong direction, so that reading from closed input and writing to closed output still fail. Messages to
    /// a closed error stream are discarded.
    package static func openClosed() -> Bool {
        for (descriptor, direction) in [(0, O_WRONLY), (1, O_RDONLY), (2, O_WRONLY)] as [(Int32, Int32)] {
            guard fcntl(descriptor, F_GETFD) < 0 else { continue }
            // The system chooses the lowest free number, which is this one, because the lower ones are open.
            guard openat(AT_FDCWD, "/dev/null", direction) == descriptor else { return false }
        }
        return true
    }
}

// MARK: - Threads and address space

/// The threads and the address space that a command needs.
///
/// The libraries that the command uses don't report a shortage: Dispatch retries every second, forever, and the C++ parts of the Swift
/// runtime trap. A check at startup tells the user which limit to raise. It takes less than a millisecond on a machine with a few
/// processors.
package struct ProcessLimits {
    /// The number of threads in addition to the main thread. Each has a stack of the system's default size.
    var threads: Int
    /// The bytes of address space in addition to these stacks.
    var addressSpace: Int

    /// Returns the limits for a command. The threads are one per processor in Swift's cooperative pool, and the ones for transfers, name
    /// lookups, the database, timers, files and waiting for descriptors. On two processors, eight downloads with a database used eight
    /// threads.
    package static func needed(processors: Int = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) -> ProcessLimits {
        ProcessLimits(threads: 2 * processors + 6, addressSpace: 64 << 20)
    }

    /// Allocates the threads and the address space, and frees them again. Returns a message for the user if that fails; otherwise `nil`.
    package func lack() -> String? {
        Self.saveAddressSpace()
        let stackSize = Self.defaultStackSize
        let (stacks, overflows) = threads.multipliedReportingOverflow(by: stackSize)
        // No processor has more than 57 bits of address space, and half of it is the kernel's.
        guard !overflows, stacks < 1 << 56 else {
            return """
                This process needs \(threads) threads, but their stacks of \(stackSize >> 20) MiB don't fit into the address space. \
                Lower the limit of the stack with ulimit -s (in systemd: LimitSTACK=).
                """
        }
        guard Self.canMap(addressSpace + stacks) else {
            return """
                This process needs \((addressSpace + stacks) >> 20) MiB of address space, more than its limit allows. Raise the \
                limit with ulimit -v (in systemd: LimitAS=).
                """
        }
        let started = Self.start(threads)
        guard started == threads else {
            return """
                This process needs \(threads) threads, but its limit allows only \(started). Raise the limit with ulimit -u \
                (in systemd: LimitNPROC= and TasksMax=, in a container: its limit of processes).
                """
        }
        return nil
    }

    /// Keeps the allocator from reserving 64 MiB of address space for each thread if the address space is limited (mallopt(3)).
    /// The stacks of later threads need that space.
    private static func saveAddressSpace() {
        #if canImport(Glibc)
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0, limit.rlim_cur != rlim_t.max,
            let address = dlsym(nil, "mallopt")
        else { return }
        // Swift doesn't import <malloc.h>, where M_ARENA_MAX is -8.
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

    /// Whether this many bytes of address space are free (mmap(2)). The check uses no memory.
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

    /// Starts up to `count` threads that exist at the same time, ends them, and returns how many there were (pthread_create(3)).
    private static func start(_ count: Int) -> Int {
        // The threads wait for this mutex until the last one exists.
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
