#pragma once

// Calls that never wait for a device.
