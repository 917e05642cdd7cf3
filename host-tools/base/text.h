// SPDX-License-Identifier: Apache-2.0
//
// Text from outside (names of files and models, values on command lines, what devices and other
// programs report of themselves), on its way out. The output is valid UTF-8 without control
// characters. So no name can move a terminal's cursor, break a line of CSV or make a file that a
// parser refuses.
#ifndef MW_HOST_TEXT_H
#define MW_HOST_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/// In place of every byte that belongs to no character, and of every control character: U+FFFD.
#define MW_TEXT_REPLACEMENT "\xef\xbf\xbd"
/// A text has at most as many times as many bytes with replacements.
#define MW_TEXT_GROWS 3

/// The character that `text` begins with, which is not empty: its bytes, and its code point. 0:
/// its first byte belongs to no character of UTF-8.
unsigned mw_text_char(const char *text, uint32_t *code);
/// Whether a code point is text: no control character, no surrogate, none that changes the order of
/// the characters after it, and no noncharacter. A changed order could show another name. XML and
/// HTML refuse noncharacters.
bool mw_text_is_plain(uint32_t code);
/// Copy `text`, with replacements, into `size` bytes. What does not fit is cut between two
/// characters. Returns `to`. May be called in a signal handler.
const char *mw_text_clean(char *to, size_t size, const char *text);
/// Write the character that `text` begins with, or its replacement. Returns the text after it.
const char *mw_text_put(FILE *out, const char *text);

/// Room for most names: longer ones are shown as far as they fit.
struct mw_shown {
    char text[1536];
};
/// `text`, with replacements, as an argument of printf, up to the end of the block; NULL gives "".
#define MW_SHOWN(text_) mw_text_clean(((struct mw_shown){""}).text, sizeof(struct mw_shown), text_)

/// A number of bytes for people, "1.5 GiB", in `size` bytes at `text`, which it returns.
const char *mw_bytes_text(uint64_t bytes, char *text, size_t size);

#endif
