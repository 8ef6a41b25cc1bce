#pragma once

// libcurl without its variadic functions, which Swift cannot call. Empty where URLSession carries the bytes instead: iOS, tvOS, watchOS,
// visionOS.

#if defined(__APPLE__)
#include <TargetConditionals.h>
#endif

#if !defined(__APPLE__) || TARGET_OS_OSX
#define CSLUICE_HAS_CURL 1

#if !__has_include(<curl/curl.h>)
#error "curl/curl.h is missing. Install it and build again: apt-get install libcurl4-openssl-dev (Debian, Ubuntu), dnf install libcurl-devel (Fedora)"
#endif

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

#if LIBCURL_VERSION_NUM < 0x074c00
#error "This libcurl is older than 7.76. Install a newer one and build again."
#endif

/// Prepares libcurl. Any thread may call it, any number of times. 0, or a CURLcode.
int csluice_curl_prepare(void);

// MARK: Transfers

/// What all requests of a transport have in common. A string that is NULL leaves libcurl's default.
struct csluice_curl_settings {
    long connect_milliseconds;
    long buffer_size;
    const char *_Nonnull no_proxy;
    const char *_Nullable ca_file;
    const char *_Nullable certificate;
    const char *_Nullable key;
    /// A line of a head with its line ending, also of an informational head and of trailers. See CURLOPT_HEADERFUNCTION(3).
    curl_write_callback _Nonnull line;
    /// Bytes of the body. See CURLOPT_WRITEFUNCTION(3).
    curl_write_callback _Nonnull body;
    /// Asks for bytes of the request's body. See CURLOPT_READFUNCTION(3).
    curl_read_callback _Nonnull upload;
};

/// A handle for one request after another, or NULL if there is no memory or an option is refused.
CURL *_Nullable csluice_curl_easy(const struct csluice_curl_settings *_Nonnull settings);

/// One request. libcurl copies the strings. The fields must live as long as the request.
struct csluice_curl_request {
    const char *_Nonnull url;
    const char *_Nonnull method;
    /// "" for none, whatever the environment says.
    const char *_Nonnull proxy;
    struct curl_slist *_Nullable fields;
    /// How many bytes the request's body has; -1 if it has none.
    curl_off_t body_size;
    /// Whether it may use a connection of an earlier request. libcurl sends a request again if that connection turns out to be closed.
    bool may_reuse;
    /// What the callbacks get.
    void *_Nonnull context;
};

/// Sets the request that the handle carries next. 0, or a CURLcode.
int csluice_curl_set_request(CURL *_Nonnull easy, const struct csluice_curl_request *_Nonnull request,
                         char error_text[_Nonnull CURL_ERROR_SIZE]);

/// What libcurl knows of a transfer.
struct csluice_curl_facts {
    /// The error number of the last system call that failed to connect, 0 if none did.
    long system_error;
    /// What a proxy answered to CONNECT, 0 if none was asked.
    long proxy_status;
    /// When the request was about to be sent, in microseconds from the start; 0 before.
    curl_off_t request_time;
};
struct csluice_curl_facts csluice_curl_get_facts(CURL *_Nonnull easy);

/// When the steps of a transfer ended, in microseconds from its start; 0 for a step that has not ended, or that there was not.
struct csluice_curl_times {
    curl_off_t lookup;
    curl_off_t connection;
    curl_off_t handshake;
    curl_off_t first_byte;
    curl_off_t now;
    /// How many connections were opened for it.
    long connections;
};
struct csluice_curl_times csluice_curl_get_times(CURL *_Nonnull easy);

/// Lets a paused transfer go on. May call the callbacks before it returns. 0, or a CURLcode.
int csluice_curl_resume(CURL *_Nonnull easy);

// MARK: Many transfers on one thread

/// NULL if there is no memory. Keeps at most so many idle connections.
CURLM *_Nullable csluice_curl_multi(long idle_connections);

/// The next transfer that ended and how, a CURLcode; NULL if none did.
CURL *_Nullable csluice_curl_next_ended(CURLM *_Nonnull multi, int *_Nonnull result);

/// The context of the handle's request.
void *_Nullable csluice_curl_context(CURL *_Nonnull easy);

#endif
