// SPDX-License-Identifier: Apache-2.0
//
// The message of the last failure (mw_message). Names of the library that are not
// public start with mwi_.
#ifndef MW_ERROR_H
#define MW_ERROR_H

#include "moeswitch.h"

enum { MWI_MESSAGE = 512 }; ///< characters of a message

/// Set mw_message and return `code`.
int mwi_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// Around a call of a transport, which may set a more precise message: clear the message before,
/// and set this one if it has not.
void mwi_say_nothing(void);
int mwi_fail_also(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// In a public function that returns a code: this pointer is needed.
#define MWI_NEED(pointer) \
    do { \
        if (!(pointer)) \
            return mwi_fail(MW_ERR_INVALID, "%s: %s is NULL", __func__, #pointer); \
    } while (0)

#endif
