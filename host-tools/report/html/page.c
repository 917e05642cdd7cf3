// SPDX-License-Identifier: Apache-2.0
//
// See page.h.
#include "report/html/page.h"

#include <stdlib.h>

char *mw_report_html(const struct mw_run_params *params, const struct mw_trace *trace,
                     const struct mw_workload *w, const struct mw_summary *summaries,
                     unsigned count, size_t *size)
{
    char *text = NULL;
    struct mw_page p = {open_memstream(&text, size), params, trace, w, summaries, count};
    if (!p.out)
        return NULL;
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta "
          "name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
          "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>moeswitch run: ",
          p.out);
    mw_page_text(p.out, trace->name);
    fprintf(p.out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", mw_page_style);
    mw_page_head(&p);
    mw_page_cycles(&p);
    mw_page_bytes(&p);
    mw_page_links(&p);
    mw_page_latency(&p);
    mw_page_stalls(&p);
    mw_page_feeding(&p);
    mw_page_workload(&p);
    mw_page_layers(&p);
    mw_page_foot(&p);
    fputs("</body>\n</html>\n", p.out);
    bool failed = ferror(p.out);
    if (fclose(p.out) || failed) {
        free(text);
        return NULL;
    }
    return text;
}
