#include "MD4CPeer.h"

#include <md4c-html.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
    char *bytes;
    size_t count, room;
    int failed;
};

static void append(const MD_CHAR *text, MD_SIZE size, void *context) {
    struct buffer *buffer = context;
    if (buffer->failed) return;
    if (buffer->count + size > buffer->room) {
        size_t room = 2 * (buffer->room + size);
        char *bytes = realloc(buffer->bytes, room);
        if (!bytes) {
            buffer->failed = 1;
            return;
        }
        buffer->bytes = bytes;
        buffer->room = room;
    }
    memcpy(buffer->bytes + buffer->count, text, size);
    buffer->count += size;
}

long md4c_peer_render(const char *markdown, size_t size, char **html) {
    // The same first estimate as ours, so that neither grows its buffer more often.
    struct buffer buffer = {.room = size + size / 4 + 64};
    buffer.bytes = malloc(buffer.room);
    buffer.failed = !buffer.bytes;
    int status = md_html(markdown, (MD_SIZE)size, append, &buffer, MD_FLAG_NOHTML, MD_HTML_FLAG_XHTML);
    if (status != 0 || buffer.failed) {
        free(buffer.bytes);
        return -1;
    }
    *html = buffer.bytes;
    return (long)buffer.count;
}
