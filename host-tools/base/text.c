// SPDX-License-Identifier: Apache-2.0
//
// See text.h.
#include "base/text.h"

#include <string.h>

unsigned mw_text_char(const char *text, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    unsigned n = s[0] < 0x80       ? 1
                 : s[0] >> 5 == 6  ? 2
                 : s[0] >> 4 == 14 ? 3
                 : s[0] >> 3 == 30 ? 4
                                   : 0;
    *code = n == 1 ? s[0] : n ? s[0] & (0x7fu >> n) : 0;
    for (unsigned i = 1; i < n; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        *code = *code << 6 | (s[i] & 0x3f);
    }
    bool surrogate = *code >= 0xd800 && *code <= 0xdfff;
    return *code >= least[n] && *code <= 0x10ffff && !surrogate ? n : 0;
}

bool mw_text_is_plain(uint32_t c)
{
    if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029)
        return false;
    if ((c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069))
        return false;
    return c < 0xfdd0 || (c > 0xfdef && (c & 0xfffe) != 0xfffe);
}

/// What is shown of the character that `text` begins with: `length` bytes. Returns how many
/// bytes of `text` that is.
static unsigned show(const char *text, const char **shown, unsigned *length)
{
    uint32_t code;
    unsigned n = mw_text_char(text, &code);
    bool plain = n && mw_text_is_plain(code);
    *shown = plain ? text : MW_TEXT_REPLACEMENT;
    *length = plain ? n : sizeof MW_TEXT_REPLACEMENT - 1;
    return n ? n : 1;
}

const char *mw_text_clean(char *to, size_t size, const char *text)
{
    size_t at = 0;
    const char *shown;
    unsigned length, taken;
    for (; text && *text; text += taken) {
        taken = show(text, &shown, &length);
        if (at + length >= size)
            break;
        memcpy(to + at, shown, length);
        at += length;
    }
    to[at] = 0;
    return to;
}

const char *mw_text_put(FILE *out, const char *text)
{
    const char *shown;
    unsigned length, taken = show(text, &shown, &length);
    fwrite(shown, 1, length, out);
    return text + taken;
}

const char *mw_bytes_text(uint64_t bytes, char *text, size_t size)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    unsigned u = 0;
    double value = (double)bytes;
    for (; value >= 1024 && u < 5; u++)
        value /= 1024;
    snprintf(text, size, "%.*f %s", u ? 1 : 0, value, units[u]);
    return text;
}
