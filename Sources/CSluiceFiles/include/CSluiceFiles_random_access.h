#pragma once

// Random access, mapped memory, preallocation.
