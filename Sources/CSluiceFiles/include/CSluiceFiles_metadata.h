#pragma once

// Times, modes, links, extended attributes.
