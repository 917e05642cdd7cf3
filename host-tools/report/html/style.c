// SPDX-License-Identifier: Apache-2.0
//
// style.css as a string: page_style.h has its lines as literals.
#include "report/html/page.h"

const char *const mw_page_style =
#include "page_style.h"
    ;
