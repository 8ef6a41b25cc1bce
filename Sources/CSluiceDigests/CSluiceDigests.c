#include "CSluiceDigests.h"

#if !defined(__APPLE__)

#include <openssl/evp.h>

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
