// SPDX-License-Identifier: Apache-2.0
#include "report/pictures.h"

#include "base/output.h"
#include "report/page.h"
#include "report/plot.h"

#include <stdlib.h>

enum { PICTURES = 3 };

static const char *path_of(const struct mw_run_params *p, unsigned i)
{
    return i == 0 ? p->plot : i == 1 ? p->html : p->timeline;
}

int mw_pictures_probe(const struct mw_run_params *params, struct mw_error *err)
{
    int status = MW_EXIT_OK;
    for (unsigned i = 0; i < PICTURES && !status; i++)
        if (!mw_is_standard(path_of(params, i)))
            status = mw_output_probe(path_of(params, i), err);
    return status;
}

bool mw_pictures_replace_tables(const struct mw_run_params *params)
{
    bool any = false;
    for (unsigned i = 0; i < PICTURES; i++)
        any |= mw_is_standard(path_of(params, i));
    return any;
}

/// Send a text that was made, and free it. NULL: it was not, for lack of memory.
static int deliver(FILE *out, const char *path, char *text, size_t size, struct mw_error *err)
{
    int status = text ? mw_data_send(out, path, text, size, err) : mw_fail_memory(err, "a picture");
    free(text);
    return status;
}

int mw_pictures_write(const struct mw_run_params *params, FILE *out, const struct mw_json *json,
                      const struct mw_captions *captions, const struct mw_summary *summaries,
                      unsigned count, struct mw_error *err)
{
    int status = MW_EXIT_OK;
    size_t size = 0;
    if (params->plot) {
        char *text = mw_plot_svg(captions, summaries, count, &size);
        status = deliver(out, params->plot, text, size, err);
    }
    if (params->html && !status) {
        char *text = mw_page_html(MW_PAGE_RUN, json, &size);
        status = deliver(out, params->html, text, size, err);
    }
    if (params->timeline && !status) {
        char *text = mw_timeline_json(captions, summaries, count, &size, err);
        status = deliver(out, params->timeline, text, size, err);
    }
    return status;
}
