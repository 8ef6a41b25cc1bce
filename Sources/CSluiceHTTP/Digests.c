#include "CSluiceHTTP.h"

#if !defined(__APPLE__)

#include <openssl/crypto.h>
#include <openssl/evp.h>

// Without this, `exit` frees OpenSSL's tables while threads of transfers still use them, which ends some processes with a corrupt heap
// (openssl issue 6214). The kernel frees the memory anyway. It must come before the first use of OpenSSL, which may be libcurl's.
__attribute__((constructor)) static void keep_openssl_until_the_end(void) { OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL); }

// csluice_sha256 is an incomplete type: a pointer to it is a pointer to libcrypto's context.
static EVP_MD_CTX *context(csluice_sha256 *digest) { return (EVP_MD_CTX *)digest; }

csluice_sha256 *csluice_sha256_begin(void) {
    EVP_MD_CTX *made = EVP_MD_CTX_new();
    if (made && EVP_DigestInit_ex(made, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(made);
        return NULL;
    }
    return (csluice_sha256 *)made;
}

bool csluice_sha256_update(csluice_sha256 *digest, const void *bytes, size_t count) {
    return EVP_DigestUpdate(context(digest), bytes, count) == 1;
}

bool csluice_sha256_end(csluice_sha256 *digest, unsigned char *into) {
    return EVP_DigestFinal_ex(context(digest), into, NULL) == 1;
}

void csluice_sha256_free(csluice_sha256 *digest) { EVP_MD_CTX_free(context(digest)); }

#endif
