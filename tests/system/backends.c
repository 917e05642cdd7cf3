// SPDX-License-Identifier: Apache-2.0
//
// See backends.h. What a run has found out is all in its JSON, but for the output itself.
#include "backends.h"

#include "report/report.h"

#include <stdlib.h>

/// Run it on a backend: `r` has the result, `json` all figures, without what simulated
/// it and for how long.
static void run(struct configuration *c, const char *backend, struct mw_result *r,
                struct mw_json *json)
{
    struct mw_summary s;
    c->bench.params.device.backend = backend;
    int status = bench_run(&c->bench, c->system, r);
    bench_check(&c->bench, c->system, r, status);
    assert_string_equal(r->model.backend, backend);
    r->model = (struct mw_simulation){0};
    r->seconds = 1;
    mw_summarize(&s, r, &c->bench.w, &c->bench.params, 0, NULL);
    *json = (struct mw_json){0};
    assert_int_equal(
        mw_report_json(json, &c->bench.params, &c->bench.trace, &c->bench.w, &s, 1, NULL), 0);
}

/// The first line that differs.
static void same_text(const char *lanes, const char *plain)
{
    size_t line = 0;
    for (size_t i = 0; lanes[i] || plain[i]; i++) {
        if (lanes[i] != plain[i])
            fail_msg("lanes: %.*s\nplain: %.*s", (int)strcspn(lanes + line, "\n"), lanes + line,
                     (int)strcspn(plain + line, "\n"), plain + line);
        if (lanes[i] == '\n')
            line = i + 1;
    }
}

static void compare(const struct configuration_model *models, uint64_t seed, unsigned i)
{
    struct configuration c;
    struct mw_result lanes, plain;
    struct mw_json lanes_json, plain_json;
    configuration_make(&c, seed, i, models);
    run(&c, "lanes", &lanes, &lanes_json);
    run(&c, "plain", &plain, &plain_json);
    same_text(lanes_json.text, plain_json.text);
    for (unsigned l = 0; l < lanes.layers; l++)
        assert_memory_equal(lanes.layer[l].out, plain.layer[l].out,
                            (size_t)c.bench.w.tokens * c.bench.w.shape.hidden *
                                sizeof *lanes.layer[l].out);
    assert_int_equal(lanes.simulated_cycles, plain.simulated_cycles);
    mw_json_free(&lanes_json);
    mw_json_free(&plain_json);
    mw_result_free(&lanes);
    mw_result_free(&plain);
    bench_free(&c.bench);
}

static bool has_lanes(const struct configuration_model *m)
{
    struct mw_open_options o;
    struct mw_device *d;
    struct mw_simulation s = {0};
    mw_open_defaults(&o);
    o.gpus = m->gpus;
    o.flit_bytes = m->flit_bytes;
    if (mw_open(&o, &d))
        fail_msg("%s", mw_message());
    assert_int_equal(mw_simulation_info(d, &s), 0);
    mw_close(d);
    return strcmp(s.backend, "lanes") == 0;
}

void backends_compare(const struct configuration_model *models, unsigned count)
{
    uint64_t seed = test_seed();
    setenv("XDG_RUNTIME_DIR", "/dev/null", 1); // a sample for someone's top costs cycles
    if (!has_lanes(models)) {
        print_message("SKIPPED: the models are plain here\n");
        skip();
    }
    for (unsigned i = 0; i < count; i++)
        compare(models, seed, i);
}
