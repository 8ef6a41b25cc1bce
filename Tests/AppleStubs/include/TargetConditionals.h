#pragma once

#define TARGET_OS_MAC 1
#define TARGET_OS_OSX __is_target_os(macosx)
#define TARGET_OS_IPHONE !__is_target_os(macosx)
#define TARGET_OS_IOS __is_target_os(ios)
#define TARGET_OS_TV __is_target_os(tvos)
#define TARGET_OS_WATCH __is_target_os(watchos)
#define TARGET_OS_VISION __is_target_os(xros)
