#include "CSluiceHTTP.h"

#if !defined(__APPLE__)

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>

// Without this, `exit` frees OpenSSL's tables while threads of transfers still use them, which ends some processes with a corrupt heap
// (openssl issue 6214). The kernel frees the memory anyway. It must come before the first use of OpenSSL, which may be libcurl's.
__attribute__((constructor)) static void keep_openssl_until_the_end(void) { OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL); }

// csluice_digest is an incomplete type: a pointer to it is a pointer to libcrypto's context.
static EVP_MD_CTX *context(csluice_digest *digest) { return (EVP_MD_CTX *)digest; }

static const EVP_MD *sha256, *sha512;

static void find_algorithms(void) {
#if OPENSSL_VERSION_NUMBER >= 0x30000000L && !defined(LIBRESSL_VERSION_NUMBER)
    // EVP_sha256() would look up the implementation again for each digest, which takes longer than hashing a URL (EVP_DigestInit(3),
    // "Explicit fetching").
    sha256 = EVP_MD_fetch(NULL, "SHA2-256", NULL);
    sha512 = EVP_MD_fetch(NULL, "SHA2-512", NULL);
#else
    sha256 = EVP_sha256();
    sha512 = EVP_sha512();
#endif
}

static csluice_digest *begin(const EVP_MD **algorithm) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_algorithms);
    EVP_MD_CTX *made = EVP_MD_CTX_new();
    if (made && (!*algorithm || EVP_DigestInit_ex(made, *algorithm, NULL) != 1)) {
        EVP_MD_CTX_free(made);
        return NULL;
    }
    return (csluice_digest *)made;
}

csluice_digest *csluice_sha256_begin(void) { return begin(&sha256); }

csluice_digest *csluice_sha512_begin(void) { return begin(&sha512); }

bool csluice_digest_update(csluice_digest *digest, const void *bytes, size_t count) {
    return EVP_DigestUpdate(context(digest), bytes, count) == 1;
}

bool csluice_digest_end(csluice_digest *digest, unsigned char *into) {
    return EVP_DigestFinal_ex(context(digest), into, NULL) == 1;
}

void csluice_digest_free(csluice_digest *digest) { EVP_MD_CTX_free(context(digest)); }

#endif
