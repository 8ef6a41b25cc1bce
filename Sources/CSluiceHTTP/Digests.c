#include "CSluiceHTTP.h"

#if !defined(__APPLE__)

#include <openssl/crypto.h>
#include <openssl/evp.h>

// Without this, `exit` frees OpenSSL's tables while threads of transfers still use them, which ends some processes with a corrupt heap
// (openssl issue 6214). The kernel frees the memory anyway. It must come before the first use of OpenSSL, which may be libcurl's.
__attribute__((constructor)) static void keep_openssl_until_the_end(void) { OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL); }

// csluice_digest is an incomplete type: a pointer to it is a pointer to libcrypto's context.
static EVP_MD_CTX *context(csluice_digest *digest) { return (EVP_MD_CTX *)digest; }

static csluice_digest *begin(const EVP_MD *algorithm) {
    EVP_MD_CTX *made = EVP_MD_CTX_new();
    if (made && EVP_DigestInit_ex(made, algorithm, NULL) != 1) {
        EVP_MD_CTX_free(made);
        return NULL;
    }
    return (csluice_digest *)made;
}

csluice_digest *csluice_sha256_begin(void) { return begin(EVP_sha256()); }

csluice_digest *csluice_sha512_begin(void) { return begin(EVP_sha512()); }

bool csluice_digest_update(csluice_digest *digest, const void *bytes, size_t count) {
    return EVP_DigestUpdate(context(digest), bytes, count) == 1;
}

bool csluice_digest_end(csluice_digest *digest, unsigned char *into) {
    return EVP_DigestFinal_ex(context(digest), into, NULL) == 1;
}

void csluice_digest_free(csluice_digest *digest) { EVP_MD_CTX_free(context(digest)); }

#endif
