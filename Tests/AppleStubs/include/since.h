#pragma once

// The system versions that introduced a declaration. Without it, a declaration has existed from the beginning: macOS 10.0, iOS 2.0.
#define SINCE(mac, phone, tv, watch) __attribute__((availability(macos, introduced = mac), availability(ios, introduced = phone), \
    availability(tvos, introduced = tv), availability(watchos, introduced = watch), availability(visionos, introduced = 1.0)))
