#pragma once

// Darwin's system call numbers. None of our code uses them.
#define SYS_syscall 0
