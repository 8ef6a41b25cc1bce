#pragma once

// The systems that introduced a declaration. Declarations without it have been there from the beginning: macOS 10.0, iOS 2.0.
#define SINCE(mac, phone, tv, watch) __attribute__((availability(macos, introduced = mac), availability(ios, introduced = phone), \
    availability(tvos, introduced = tv), availability(watchos, introduced = watch), availability(visionos, introduced = 1.0)))
