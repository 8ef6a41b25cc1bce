#pragma once

// The C libraries of SluiceHTTP.

#include <stdbool.h>
#include <stddef.h>

#if defined(__APPLE__)
#include <TargetConditionals.h>
#endif

// MARK: libcurl

// Wraps libcurl's variadic functions, which Swift can't call. Not on iOS, tvOS, watchOS and visionOS, where URLSession is used instead.

#if !defined(__APPLE__) || TARGET_OS_OSX
#define CSLUICE_HAS_CURL 1

#if !__has_include(<curl/curl.h>)
#error "curl/curl.h is missing. Install it and build again: apt-get install libcurl4-openssl-dev (Debian, Ubuntu), dnf install libcurl-devel (Fedora)"
#endif

#include <curl/curl.h>

#if LIBCURL_VERSION_NUM < 0x074c00
#error "This libcurl is older than 7.76. Install a newer one and build again."
#endif

/// Initializes libcurl. Any thread may call it, any number of times. Returns 0, or a CURLcode.
int csluice_curl_prepare(void);

// MARK: Cookies

/// Cookies that several handles share. Any thread may use them.
struct csluice_cookies;

/// Returns NULL if there is no memory, or if libcurl has no cookies.
struct csluice_cookies *_Nullable csluice_cookies_create(void);

/// Frees the cookies. No handle may refer to them.
void csluice_cookies_free(struct csluice_cookies *_Nonnull cookies);

/// Adds lines of a Netscape cookie file. Ignores those that libcurl can't read. Returns false if there is no memory.
bool csluice_cookies_add(struct csluice_cookies *_Nonnull cookies, const char *_Nonnull const *_Nonnull lines, size_t count);

/// Returns the cookies as lines of a Netscape cookie file, or NULL if there are none. Free them with curl_slist_free_all.
struct curl_slist *_Nullable csluice_cookies_list(struct csluice_cookies *_Nonnull cookies);

/// Whether libcurl knows the list of public suffixes, such as co.uk (publicsuffix.org).
bool csluice_cookies_know_suffixes(void);

// MARK: Transfers

/// The settings that all requests of a transport share. NULL instead of a string keeps libcurl's default.
struct csluice_curl_settings {
    long connect_milliseconds;
    /// The most bytes to receive at once. libcurl decodes all of them, even if the transfer is paused.
    long buffer_size;
    const char *_Nonnull no_proxy;
    const char *_Nullable ca_file;
    const char *_Nullable certificate;
    const char *_Nullable key;
    /// Whether to use HTTP/2 for https if the server and libcurl have it.
    bool may_use_http2;
    /// CURL_IPRESOLVE_WHATEVER, CURL_IPRESOLVE_V4 or CURL_IPRESOLVE_V6.
    long ip_version;
    /// The addresses of names, as in CURLOPT_RESOLVE(3). They must live as long as the handle.
    struct curl_slist *_Nullable addresses;
    const char *_Nullable interface;
    const char *_Nullable unix_socket;
    /// Receives a line of a head with its line ending, including lines of informational heads and of trailers. See
    /// CURLOPT_HEADERFUNCTION(3).
    curl_write_callback _Nonnull line;
    /// Receives bytes of the body. See CURLOPT_WRITEFUNCTION(3).
    curl_write_callback _Nonnull body;
    /// Provides bytes of the request's body. See CURLOPT_READFUNCTION(3).
    curl_read_callback _Nonnull upload;
    /// Seeks in the request's body. See CURLOPT_SEEKFUNCTION(3).
    curl_seek_callback _Nonnull rewind;
};

/// Creates a handle that sends one request after another. Returns NULL if there is no memory or libcurl refuses an option.
CURL *_Nullable csluice_curl_easy(const struct csluice_curl_settings *_Nonnull settings);

/// One request. libcurl copies the strings. The fields must live as long as the request.
struct csluice_curl_request {
    const char *_Nonnull url;
    const char *_Nonnull method;
    /// The proxy's URL; "" for no proxy, even if the environment variables name one.
    const char *_Nonnull proxy;
    /// The user name and the password for the server, if it asks for them; NULL for none, or those in the URL.
    const char *_Nullable user;
    const char *_Nullable password;
    /// Whether to wait for a 401 and prefer Digest authentication. Otherwise, Basic authentication is sent with the request.
    bool may_use_digest;
    struct curl_slist *_Nullable fields;
    /// The cookies to send and to store; NULL for none. They must live as long as the handle, which sends no request without them.
    struct csluice_cookies *_Nullable cookies;
    /// The request's own cookies, in addition to `cookies`: "a=b; c=d".
    const char *_Nullable own_cookies;
    /// Whether to ask for the content codings that libcurl can decode (gzip, br and zstd), and to decode them.
    bool decodes;
    /// The length of the request's body in bytes; -1 if there is no body.
    curl_off_t body_size;
    /// Whether the request may reuse a connection. libcurl sends the request again if that connection turns out to be closed.
    bool may_reuse;
    /// The last argument of the callbacks.
    void *_Nonnull context;
};

/// Sets the request that the handle sends next. Returns 0, or a CURLcode.
int csluice_curl_set_request(CURL *_Nonnull easy, const struct csluice_curl_request *_Nonnull request,
                         char error_text[_Nonnull CURL_ERROR_SIZE]);

/// Details of a transfer, to find out why it failed.
struct csluice_curl_facts {
    /// The errno(3) of the last failed attempt to connect; 0 if there was none.
    long system_error;
    /// The status of the proxy's response to CONNECT; 0 if there was none.
    long proxy_status;
    /// The time at which libcurl was about to send the request, in microseconds from the start of the transfer; 0 until then.
    curl_off_t request_time;
};
struct csluice_curl_facts csluice_curl_get_facts(CURL *_Nonnull easy);

/// Returns whether the server's last 401 asked for Basic authentication, but not for Digest.
bool csluice_curl_asked_for_basic_only(CURL *_Nonnull easy);

/// The number of bytes of the body that have arrived, before they were decoded.
curl_off_t csluice_curl_get_size(CURL *_Nonnull easy);

/// Tries to create a socket. Returns 0, or the errno(3) of the failure, which libcurl doesn't report.
int csluice_curl_socket_error(void);

/// The times at which the steps of a transfer ended, in microseconds from its start; 0 for a step that hasn't ended or doesn't occur.
struct csluice_curl_times {
    curl_off_t lookup;
    curl_off_t connection;
    curl_off_t handshake;
    curl_off_t first_byte;
    curl_off_t now;
    /// The number of connections that were opened for the transfer; 0 if it reused one.
    long connections;
};
struct csluice_curl_times csluice_curl_get_times(CURL *_Nonnull easy);

/// Continues a paused transfer. May call the callbacks before it returns. Returns 0, or a CURLcode.
int csluice_curl_resume(CURL *_Nonnull easy);

// MARK: Many transfers on one thread

/// Creates a multi handle that keeps at most `idle_connections` idle connections, and lets transfers share a connection if `multiplexes`.
/// Returns NULL if there is no memory.
CURLM *_Nullable csluice_curl_multi(long idle_connections, bool multiplexes);

/// Returns the next transfer that has ended and sets `result` to its CURLcode. Returns NULL if there is none.
CURL *_Nullable csluice_curl_next_ended(CURLM *_Nonnull multi, int *_Nonnull result);

/// Returns the context of the handle's request.
void *_Nullable csluice_curl_context(CURL *_Nonnull easy);

#endif

// MARK: SHA-256 and SHA-512

// Wraps OpenSSL's libcrypto. Not on Apple's platforms, which have CryptoKit.

#if !defined(__APPLE__)

#if !__has_include(<openssl/evp.h>)
#error "openssl/evp.h is missing. Install it and build again: apt-get install libssl-dev (Debian, Ubuntu), dnf install openssl-devel (Fedora)"
#endif

/// An incremental digest. Only one thread at a time may use it.
typedef struct csluice_digest csluice_digest;

/// Creates a digest of SHA-256. Returns NULL if there is no memory, or if the system's policy forbids it. See EVP_DigestInit(3).
csluice_digest *_Nullable csluice_sha256_begin(void);

/// The same for SHA-512.
csluice_digest *_Nullable csluice_sha512_begin(void);

/// Adds bytes to the digest. Returns false if libcrypto failed.
bool csluice_digest_update(csluice_digest *_Nonnull digest, const void *_Nullable bytes, size_t count);

/// Writes the digest to `into`: 32 bytes, or 64 of SHA-512. Returns false if libcrypto failed.
bool csluice_digest_end(csluice_digest *_Nonnull digest, unsigned char *_Nonnull into);

/// Frees a digest, finished or not.
void csluice_digest_free(csluice_digest *_Nonnull digest);

#endif
