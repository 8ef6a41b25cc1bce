import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The memory that the process uses, in bytes; 0 if it is unknown.
struct Memory: Sendable {
    /// Allocated with malloc and not freed.
    var allocated: Int
    /// Resident pages; malloc keeps some of them after they are freed.
    var resident: Int

    static var now: Memory {
        #if canImport(Darwin)
        var statistics = malloc_statistics_t()
        malloc_zone_statistics(nil, &statistics)
        return Memory(allocated: statistics.size_in_use, resident: 0)
        #else
        return Memory(allocated: allocated, resident: resident)
        #endif
    }

    #if !canImport(Darwin)
    /// See proc_pid_statm(5).
    private static var resident: Int {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
        let fields = text.split(separator: " ").compactMap { Int($0) }
        return fields.count > 1 ? fields[1] * sysconf(Int32(_SC_PAGESIZE)) : 0
    }

    /// From malloc_info(3), which is missing from Swift's module of the C library, as is mallinfo2(3). Its output ends with the sums of
    /// all arenas:
    ///
    ///     <total type="fast" count="0" size="0"/>             free
    ///     <total type="rest" count="12" size="104184"/>       free
    ///     <total type="mmap" count="0" size="0"/>
    ///     <system type="current" size="1216512"/>
    private static var allocated: Int {
        typealias Writer = @convention(c) (Int32, UnsafeMutableRawPointer) -> Int32
        guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "malloc_info") else { return 0 }
        var text: UnsafeMutablePointer<CChar>?
        var length = 0
        guard let stream = open_memstream(&text, &length) else { return 0 }
        _ = unsafeBitCast(symbol, to: Writer.self)(0, UnsafeMutableRawPointer(stream))
        fclose(stream)
        defer { free(text) }
        let info = text.map { String(cString: $0) } ?? ""
        func size(_ type: String) -> Int {
            guard let line = info.split(separator: "\n").last(where: { $0.contains("type=\"\(type)\"") }) else {
                return 0
            }
            return line.split(separator: "\"").dropLast().last.flatMap { Int($0) } ?? 0
        }
        return size("current") + size("mmap") - size("fast") - size("rest")
    }
    #endif
}
