#pragma once

int flock(int, int);
