#pragma once

// Copies within the kernel.
