#pragma once

// Numbers of Darwin, which none of ours calls.
#define SYS_syscall 0
