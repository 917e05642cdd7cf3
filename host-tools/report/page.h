// SPDX-License-Identifier: Apache-2.0
//
// The page of `moeswitch run --html`: a template (html/page.html with its style and scripts,
// which the Makefile joins) around the JSON of the run. Its scripts draw everything in
// the reader's browser.
#ifndef MW_HOST_PAGE_H
#define MW_HOST_PAGE_H

#include "formats/json.h"

/// The page of a text that mw_json_close has ended: HTML of `size` bytes, ended by a NUL; free()
/// it. NULL: no memory. The JSON is on it without its white space, and each "<" as an escape, so
/// that no string of it ends the element that it stands in.
char *mw_page_html(const struct mw_json *json, size_t *size);

#endif
