#pragma once

#include <stddef.h>

/// Parses Markdown and renders it as XHTML into a growing buffer, with the rules of CommonMark but without raw HTML. The caller frees `*html`.
///
/// Returns the length of the HTML, or -1.
long md4c_peer_render(const char *markdown, size_t size, char **html);
