#include "CSluiceHTTP.h"

#ifdef CSLUICE_HAS_CURL

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int prepared;
static void prepare(void) { prepared = curl_global_init(CURL_GLOBAL_DEFAULT); }

int csluice_curl_prepare(void) {
    // curl_global_init(3) is thread-safe only since 7.84, and not on every platform.
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
    return prepared;
}

// MARK: Options of newer versions

static CURLcode set_newer_options(CURL *easy) {
    CURLcode code = CURLE_OK;
#if LIBCURL_VERSION_NUM >= 0x075500  // 7.85.0
    code = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    code = curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700  // 7.87.0
    // Without this, removing a handle during a name lookup waits for seconds, until the name server answers or the lookup times out.
    if (!code) code = curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
    return code;
}

// MARK: Cookies

struct csluice_cookies {
    CURLSH *share;
    // One for each kind of data that libcurl locks.
    pthread_mutex_t locks[CURL_LOCK_DATA_LAST];
};

static void lock_shared(CURL *easy, curl_lock_data data, curl_lock_access access, void *context) {
    (void)easy, (void)access;
    pthread_mutex_lock(&((struct csluice_cookies *)context)->locks[data]);
}

static void unlock_shared(CURL *easy, curl_lock_data data, void *context) {
    (void)easy;
    pthread_mutex_unlock(&((struct csluice_cookies *)context)->locks[data]);
}

struct csluice_cookies *csluice_cookies_create(void) {
    if (csluice_curl_prepare()) return NULL;
    struct csluice_cookies *cookies = calloc(1, sizeof *cookies);
    if (!cookies) return NULL;
    for (int index = 0; index < CURL_LOCK_DATA_LAST; index++) pthread_mutex_init(&cookies->locks[index], NULL);
    CURLSH *share = cookies->share = curl_share_init();
    if (!share || curl_share_setopt(share, CURLSHOPT_LOCKFUNC, lock_shared) || curl_share_setopt(share, CURLSHOPT_UNLOCKFUNC, unlock_shared) ||
        curl_share_setopt(share, CURLSHOPT_USERDATA, cookies) || curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE)) {
        csluice_cookies_free(cookies);
        return NULL;
    }
    return cookies;
}

void csluice_cookies_free(struct csluice_cookies *cookies) {
    if (cookies->share) curl_share_cleanup(cookies->share);
    for (int index = 0; index < CURL_LOCK_DATA_LAST; index++) pthread_mutex_destroy(&cookies->locks[index]);
    free(cookies);
}

static CURL *handle_of(struct csluice_cookies *cookies) {
    CURL *easy = curl_easy_init();
    if (easy && curl_easy_setopt(easy, CURLOPT_SHARE, cookies->share)) {
        curl_easy_cleanup(easy);
        return NULL;
    }
    return easy;
}

bool csluice_cookies_add(struct csluice_cookies *cookies, const char *const *lines, size_t count) {
    CURL *easy = handle_of(cookies);
    if (!easy) return false;
    for (size_t index = 0; index < count; index++) curl_easy_setopt(easy, CURLOPT_COOKIELIST, lines[index]);
    curl_easy_cleanup(easy);
    return true;
}

struct curl_slist *csluice_cookies_list(struct csluice_cookies *cookies) {
    CURL *easy = handle_of(cookies);
    struct curl_slist *list = NULL;
    if (!easy) return NULL;
    if (curl_easy_getinfo(easy, CURLINFO_COOKIELIST, &list)) list = NULL;
    curl_easy_cleanup(easy);
    return list;
}

bool csluice_cookies_know_suffixes(void) { return curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_PSL; }

// MARK: Transfers

static CURLcode set_options(CURL *easy, const struct csluice_curl_settings *settings) {
    CURLcode code = set_newer_options(easy);
#define SET(option, value) if (!code) code = curl_easy_setopt(easy, option, value)
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_NOPROGRESS, 1L);
    // If a stream of a multiplexed connection is paused, libcurl buffers up to 32 MiB.
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    if (settings->may_use_http2 && !code) {
        // A libcurl without HTTP/2 refuses this, and keeps 1.1.
        curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
        // Otherwise requests that start together would open a connection each.
        SET(CURLOPT_PIPEWAIT, 1L);
    }
    SET(CURLOPT_IPRESOLVE, settings->ip_version);
    if (settings->addresses) SET(CURLOPT_RESOLVE, settings->addresses);
    if (settings->interface) SET(CURLOPT_INTERFACE, settings->interface);
    if (settings->unix_socket) SET(CURLOPT_UNIX_SOCKET_PATH, settings->unix_socket);
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_PATH_AS_IS, 1L);
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_CONNECTTIMEOUT_MS, settings->connect_milliseconds);
    SET(CURLOPT_BUFFERSIZE, settings->buffer_size);
    SET(CURLOPT_NOPROXY, settings->no_proxy);
    if (settings->ca_file) SET(CURLOPT_CAINFO, settings->ca_file);
    if (settings->ca_file) SET(CURLOPT_PROXY_CAINFO, settings->ca_file);
    if (settings->certificate) SET(CURLOPT_SSLCERT, settings->certificate);
    if (settings->key) SET(CURLOPT_SSLKEY, settings->key);
    // Without this, OpenSSL would ask for an encrypted key's passphrase on the terminal or standard input, blocking all transfers.
    SET(CURLOPT_KEYPASSWD, "");
    SET(CURLOPT_HEADERFUNCTION, settings->line);
    SET(CURLOPT_WRITEFUNCTION, settings->body);
    SET(CURLOPT_READFUNCTION, settings->upload);
    SET(CURLOPT_SEEKFUNCTION, settings->rewind);
    // The head of the proxy's response to CONNECT isn't part of the server's response.
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    return code;
}

CURL *csluice_curl_easy(const struct csluice_curl_settings *settings) {
    CURL *easy = curl_easy_init();
    if (easy && set_options(easy, settings)) {
        curl_easy_cleanup(easy);
        return NULL;
    }
    return easy;
}

// Without deflate, which servers send in two forms.
static const char *codings(void) {
    int features = curl_version_info(CURLVERSION_NOW)->features;
    bool br = features & CURL_VERSION_BROTLI, zstd = features & CURL_VERSION_ZSTD;
    if (!(features & CURL_VERSION_LIBZ)) return br && zstd ? "br, zstd" : br ? "br" : zstd ? "zstd" : "identity";
    return br && zstd ? "gzip, br, zstd" : br ? "gzip, br" : zstd ? "gzip, zstd" : "gzip";
}

int csluice_curl_set_request(CURL *easy, const struct csluice_curl_request *request, char *error_text) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_URL, request->url);
    bool is_head = !strcmp(request->method, "HEAD"), is_get = !strcmp(request->method, "GET");
    error_text[0] = 0;
    // Each of these options changes the method, so the method's name comes last.
    SET(CURLOPT_NOBODY, is_head ? 1L : 0L);
    if (!is_head) SET(CURLOPT_HTTPGET, 1L);
    if (request->body_size >= 0) {
        SET(CURLOPT_UPLOAD, 1L);
        SET(CURLOPT_INFILESIZE_LARGE, request->body_size);
    }
    bool is_named = !(is_head || is_get) || request->body_size >= 0;
    SET(CURLOPT_CUSTOMREQUEST, is_named ? request->method : NULL);
    SET(CURLOPT_PROXY, request->proxy);
    SET(CURLOPT_USERNAME, request->user);
    SET(CURLOPT_PASSWORD, request->password);
    // If there are several methods, libcurl sends the request without credentials, and again after a 401.
    SET(CURLOPT_HTTPAUTH, (long)(request->user && request->may_use_digest ? CURLAUTH_BASIC | CURLAUTH_DIGEST : CURLAUTH_BASIC));
    SET(CURLOPT_HTTPHEADER, request->fields);
    if (request->cookies) {
        SET(CURLOPT_SHARE, request->cookies->share);
        // This turns the cookies on. There is no such file.
        SET(CURLOPT_COOKIEFILE, "");
        SET(CURLOPT_COOKIE, request->own_cookies);
    }
    SET(CURLOPT_ACCEPT_ENCODING, request->decodes ? codings() : NULL);
    SET(CURLOPT_FRESH_CONNECT, request->may_reuse ? 0L : 1L);
    SET(CURLOPT_HEADERDATA, request->context);
    SET(CURLOPT_WRITEDATA, request->context);
    SET(CURLOPT_READDATA, request->context);
    SET(CURLOPT_SEEKDATA, request->context);
    SET(CURLOPT_PRIVATE, request->context);
    SET(CURLOPT_ERRORBUFFER, error_text);
    return code;
}

struct csluice_curl_facts csluice_curl_get_facts(CURL *easy) {
    struct csluice_curl_facts facts = {0};
    curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &facts.system_error);
    curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &facts.proxy_status);
    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &facts.request_time);
    return facts;
}

bool csluice_curl_asked_for_basic_only(CURL *easy) {
    long methods = 0;
    curl_easy_getinfo(easy, CURLINFO_HTTPAUTH_AVAIL, &methods);
    return (methods & CURLAUTH_BASIC) && !(methods & CURLAUTH_DIGEST);
}

curl_off_t csluice_curl_get_size(CURL *easy) {
    curl_off_t size = 0;
    curl_easy_getinfo(easy, CURLINFO_SIZE_DOWNLOAD_T, &size);
    return size;
}

int csluice_curl_socket_error(void) {
#ifdef SOCK_CLOEXEC
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
#else
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
#endif
    if (descriptor < 0) return errno;
    close(descriptor);
    return 0;
}

struct csluice_curl_times csluice_curl_get_times(CURL *easy) {
    struct csluice_curl_times times = {0};
    curl_easy_getinfo(easy, CURLINFO_NAMELOOKUP_TIME_T, &times.lookup);
    curl_easy_getinfo(easy, CURLINFO_CONNECT_TIME_T, &times.connection);
    curl_easy_getinfo(easy, CURLINFO_APPCONNECT_TIME_T, &times.handshake);
    curl_easy_getinfo(easy, CURLINFO_STARTTRANSFER_TIME_T, &times.first_byte);
    curl_easy_getinfo(easy, CURLINFO_TOTAL_TIME_T, &times.now);
    curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &times.connections);
    return times;
}

int csluice_curl_resume(CURL *easy) { return curl_easy_pause(easy, CURLPAUSE_CONT); }

// MARK: Many transfers on one thread

CURLM *csluice_curl_multi(long idle_connections, bool multiplexes) {
    CURLM *multi = curl_multi_init();
    if (!multi) return NULL;
    if (curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, idle_connections) ||
        curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)(multiplexes ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING))) {
        curl_multi_cleanup(multi);
        return NULL;
    }
    return multi;
}

CURL *csluice_curl_next_ended(CURLM *multi, int *result) {
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}

void *csluice_curl_context(CURL *easy) {
    void *context = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &context);
    return context;
}

#endif
