#pragma once

typedef struct { int fds_bits[32]; } fd_set;
