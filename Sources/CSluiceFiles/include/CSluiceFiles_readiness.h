#pragma once

// Descriptors that are waited for.
