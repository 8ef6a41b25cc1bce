#pragma once

// Change notification.
