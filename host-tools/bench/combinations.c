// SPDX-License-Identifier: Apache-2.0
//
// Which options of `moeswitch bench` go together, and what those are that depend on others.
#include "bench/bench.h"
#include "device/setting_table.h"
#include "trace/trace_options.h"

#include <string.h>

static int check_lists(const struct mw_bench_params *p, struct mw_error *err)
{
    unsigned choice = p->split ? p->experts / 2 : p->experts;
    if (!p->trace && p->k > choice)
        return mw_fail(err, MW_EXIT_INPUT, "--k %u: %u experts can be chosen", p->k, choice);
    if (p->trace && p->k_given)
        return mw_fail(err, MW_EXIT_INPUT, "--k: not with --trace, which says it itself");
    if (!p->trace && p->said.axes.count)
        return mw_fail(err, MW_EXIT_INPUT, "--axes: only with --trace");
    return MW_EXIT_OK;
}

static int check_split(const struct mw_bench_params *p, struct mw_error *err)
{
    for (unsigned i = 0; p->split && i < MW_BENCH_PATTERNS; i++) {
        const char *name = mw_bench_patterns[i].name;
        if (p->run[i] && strcmp(name, "unicast") != 0 && strcmp(name, "multicast") != 0)
            return mw_fail(err, MW_EXIT_INPUT, "--split: not with %s", name);
    }
    if (p->split && p->gpus % 2)
        return mw_fail(err, MW_EXIT_INPUT, "--split: --gpus %u is odd", p->gpus);
    return MW_EXIT_OK;
}

static int check_reductions(const struct mw_bench_params *p, struct mw_error *err)
{
    bool reduces = false;
    for (unsigned i = 0; i < MW_BENCH_PATTERNS; i++)
        reduces |= p->run[i] && mw_bench_patterns[i].reduces;
    if (!reduces && (p->dtypes || p->redops))
        return mw_fail(err, MW_EXIT_INPUT,
                       "--%s: only with reduce_scatter, all_reduce, red or combine",
                       p->dtypes ? "type" : "redop");
    unsigned dtypes = p->dtypes ? p->dtypes : 1u << MW_DTYPE_BF16;
    unsigned redops = p->redops ? p->redops : 1u << MW_REDOP_ADD;
    for (unsigned d = 0; d < MW_DTYPES; d++)
        for (unsigned o = 0; o < MW_REDOPS; o++)
            if (dtypes >> d & redops >> o & 1 && mw_reduce_exists(d, o))
                return MW_EXIT_OK;
    return mw_fail(err, MW_EXIT_INPUT,
                   "--redop: and, or, xor are for u32, s32, u64 and s64; fp64 has sum alone");
}

int mw_bench_check(struct mw_bench_params *p, struct mw_error *err)
{
    bool patterns = false, lists = false, gates = false;
    for (unsigned i = 0; i < MW_BENCH_PATTERNS; i++) {
        patterns |= p->run[i];
        lists |= p->run[i] && mw_bench_patterns[i].lists;
        gates |= p->run[i] && mw_bench_patterns[i].gates;
    }
    if (!patterns && !p->latency)
        return mw_fail(err, MW_EXIT_INPUT, "no pattern, see moeswitch bench --help");
    if (p->row && p->row % p->flit_bytes)
        return mw_fail(err, MW_EXIT_INPUT, "--row %u: not a multiple of the %u-byte flit", p->row,
                       p->flit_bytes);
    if (p->window && mw_setting_value(&p->settings, "window", UINT64_MAX) != UINT64_MAX)
        return mw_fail(err, MW_EXIT_INPUT, "--window and --set window: both say the same");
    if (p->latency && (p->split || p->row || p->trace || p->window || p->distribution))
        return mw_fail(err, MW_EXIT_INPUT, "--%s: not with latency",
                       p->split    ? "split"
                       : p->row    ? "row"
                       : p->trace  ? "trace"
                       : p->window ? "window"
                                   : "distribution");
    if (p->load && (!p->latency || p->gpus < 4))
        return mw_fail(err, MW_EXIT_INPUT, "--load: only with latency and 4 GPUs or more");
    if ((p->k_given || p->experts_given) && !lists)
        return mw_fail(err, MW_EXIT_INPUT, "--%s: only with multicast, dispatch or combine",
                       p->k_given ? "k" : "experts");
    if (p->trace && !gates)
        return mw_fail(err, MW_EXIT_INPUT, "--trace: only with dispatch or combine");
    if (p->device.usb && mw_setting_value(&p->settings, "small", 0))
        return mw_fail(err, MW_EXIT_INPUT, "--set small: only with --device sim");
    int status = mw_data_check(&p->files, p->trace, err);
    if (!status)
        status = check_split(p, err);
    if (!status)
        status = check_reductions(p, err);
    if (!p->dtypes)
        p->dtypes = 1u << MW_DTYPE_BF16;
    if (!p->redops)
        p->redops = 1u << MW_REDOP_ADD;
    if (!status && lists)
        status = check_lists(p, err);
    if (!p->min_bytes)
        p->min_bytes = p->latency ? 16 : 4096;
    if (!p->max_bytes)
        p->max_bytes = p->latency ? 1024 : 65536;
    if (!p->iterations)
        p->iterations = p->latency ? 1000 : 1;
    if (!status && p->min_bytes > p->max_bytes)
        return mw_fail(err, MW_EXIT_INPUT, "--minbytes %llu: more than --maxbytes %llu",
                       (unsigned long long)p->min_bytes, (unsigned long long)p->max_bytes);
    return status;
}
