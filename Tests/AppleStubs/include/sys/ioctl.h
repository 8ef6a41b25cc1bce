#pragma once

int ioctl(int, unsigned long, ...);
