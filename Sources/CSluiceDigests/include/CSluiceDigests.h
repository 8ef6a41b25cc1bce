#pragma once

// Wraps SHA-256 of OpenSSL's libcrypto for Swift. Empty on Apple's platforms, which have CryptoKit.

#if !defined(__APPLE__)

#if !__has_include(<openssl/evp.h>)
#error "openssl/evp.h is missing. Install it and build again: apt-get install libssl-dev (Debian, Ubuntu), dnf install openssl-devel (Fedora)"
#endif

#include <stdbool.h>
#include <stddef.h>

/// An incremental digest. Only one thread at a time may use it.
typedef struct csluice_sha256 csluice_sha256;

/// Creates a digest. Returns NULL if there is no memory, or if the system's policy forbids SHA-256. See EVP_DigestInit(3).
csluice_sha256 *_Nullable csluice_sha256_begin(void);

/// Adds bytes to the digest. Returns false if libcrypto failed.
bool csluice_sha256_update(csluice_sha256 *_Nonnull digest, const void *_Nullable bytes, size_t count);

/// Writes the 32 bytes of the digest to `into`. Returns false if libcrypto failed.
bool csluice_sha256_end(csluice_sha256 *_Nonnull digest, unsigned char *_Nonnull into);

/// Frees a digest, finished or not.
void csluice_sha256_free(csluice_sha256 *_Nonnull digest);

#endif
