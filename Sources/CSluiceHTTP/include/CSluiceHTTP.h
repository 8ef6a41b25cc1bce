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

// MARK: Transfers

/// The settings that all requests of a transport share. NULL instead of a string keeps libcurl's default.
struct csluice_curl_settings {
    long connect_milliseconds;
    long buffer_size;
    const char *_Nonnull no_proxy;
    const char *_Nullable ca_file;
    const char *_Nullable certificate;
    const char *_Nullable key;
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

/// Creates a multi handle that keeps at most `idle_connections` idle connections. Returns NULL if there is no memory.
CURLM *_Nullable csluice_curl_multi(long idle_connections);

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
