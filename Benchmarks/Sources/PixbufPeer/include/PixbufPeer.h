#pragma once

/// Decodes a file with gdk-pixbuf, at most `size` pixels wide and high, with its orientation. Returns the number of pixels, or -1.
long pixbuf_peer_thumbnail(const char *path, int size);

/// Writes a JPEG of colors and noise, which takes about as long to decode as a photo. Returns 0, or -1.
int pixbuf_peer_write_photo(const char *path, int width, int height, unsigned seed);
