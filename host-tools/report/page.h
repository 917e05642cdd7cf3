// SPDX-License-Identifier: Apache-2.0
//
// The pages of `moeswitch run --html` and `moeswitch plan --html`: a template around the JSON of
// the run or plan. The template is html/page.html or plan/html/plan.html, with its style and
// scripts, which the Makefile joins. Its scripts draw everything in the reader's browser.
#ifndef MW_HOST_PAGE_H
#define MW_HOST_PAGE_H

#include "formats/json.h"

enum mw_page { MW_PAGE_RUN, MW_PAGE_PLAN };

/// The page of a text that mw_json_close has ended: HTML of `size` bytes, ended by a NUL; free()
/// it. NULL: no memory. The JSON is on it without its white space. Each "<" of it is an escape, so
/// that no string ends the element around the JSON.
char *mw_page_html(enum mw_page page, const struct mw_json *json, size_t *size);

#endif
