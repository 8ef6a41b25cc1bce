#include "PixbufPeer.h"

#include <gdk-pixbuf/gdk-pixbuf.h>

long pixbuf_peer_thumbnail(const char *path, int size)
{
    GdkPixbuf *decoded = gdk_pixbuf_new_from_file_at_scale(path, size, size, TRUE, NULL);
    if (!decoded)
        return -1;
    GdkPixbuf *upright = gdk_pixbuf_apply_embedded_orientation(decoded);
    g_object_unref(decoded);
    if (!upright)
        return -1;
    long count = (long)gdk_pixbuf_get_width(upright) * gdk_pixbuf_get_height(upright);
    g_object_unref(upright);
    return count;
}

int pixbuf_peer_write_photo(const char *path, int width, int height, unsigned seed)
{
    GdkPixbuf *pixbuf = gdk_pixbuf_new(GDK_COLORSPACE_RGB, FALSE, 8, width, height);
    if (!pixbuf)
        return -1;
    guchar *pixels = gdk_pixbuf_get_pixels(pixbuf);
    int stride = gdk_pixbuf_get_rowstride(pixbuf);
    unsigned random = seed * 2654435761u + 1;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int channel = 0; channel < 3; channel++) {
                random = random * 1664525u + 1013904223u;
                int color = (x * (channel + 1) / 16 + y / 12 + (int)seed * 40) % 220;
                pixels[y * stride + x * 3 + channel] = (guchar)(color + (int)(random >> 27));
            }
    gboolean isSaved = gdk_pixbuf_save(pixbuf, path, "jpeg", NULL, "quality", "88", NULL);
    g_object_unref(pixbuf);
    return isSaved ? 0 : -1;
}
