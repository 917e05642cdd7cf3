// SPDX-License-Identifier: Apache-2.0
//
// Results reported: tables for people (report_table.c, and with --details report_details.c), which
// fit MW_TABLE_WIDTH columns, JSON for programs (report_json.c), and a page around that (page.h).
#ifndef MW_HOST_REPORT_H
#define MW_HOST_REPORT_H

#include "experiment/result.h"
#include "formats/json.h"

/// Lines of a paragraph, those after the first indented.
void mw_report_paragraph(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// What was run, and the strict bound.
void mw_report_head(FILE *out, const struct mw_run_params *params, const struct mw_trace *trace,
                    const struct mw_workload *w);
/// The head of the table. `base` is the system that the others are compared with.
void mw_report_columns(FILE *out, const char *base);
/// The line of one system.
void mw_report_line(FILE *out, const struct mw_summary *s);
/// Bytes per port and direction of each system.
void mw_report_traffic(FILE *out, const struct mw_summary *summaries, unsigned count);
/// Stalls of all systems by cause.
void mw_report_stalls(FILE *out, const struct mw_summary *summaries, unsigned count);
/// What the systems require of the busiest GPUs' own parts, and which of these or the links limits
/// them.
void mw_report_resources(FILE *out, const struct mw_summary *summaries, unsigned count);
/// The cycles of each pass, and what the handle of the forward layer saves. Nothing if there is one
/// pass.
void mw_report_passes(FILE *out, const struct mw_workload *w, const struct mw_summary *summaries,
                      unsigned count);
/// What layers took as a stack. Nothing for other runs.
void mw_report_stack(FILE *out, const struct mw_workload *w, const struct mw_summary *summaries,
                     unsigned count);
/// A table of the gain of feeding, for the systems that measured it.
void mw_report_feeding(FILE *out, const struct mw_workload *w, const struct mw_summary *summaries,
                       unsigned count);
/// Latencies in the switch, of the systems whose ports recorded them. `w` is NULL if they ran one
/// layer without a number.
void mw_report_latency(FILE *out, const struct mw_workload *w, const struct mw_summary *summaries,
                       unsigned count);
/// What simulated them. Nothing for real devices.
void mw_report_model(FILE *out, const struct mw_summary *summaries, unsigned count);
/// Lines about elements that differ from the golden model, and counters from the analytic list:
/// returns MW_EXIT_MISMATCH, or MW_EXIT_OK without a word.
int mw_report_differences(FILE *err, const struct mw_result *r, const struct mw_workload *w,
                          const struct mw_link_parameters *link);
/// If there is a machine (params->hardware), describe its one simulated plane, then give a table of
/// times and bandwidths. The JSON has the same as an object of params and as members of a system.
/// Without a machine, write nothing.
void mw_report_machine_head(FILE *out, const struct mw_run_params *params);
void mw_report_machine(FILE *out, const struct mw_run_params *params, const struct mw_workload *w,
                       const struct mw_summary *summaries, unsigned count);
void mw_report_json_machine(struct mw_json *j, const struct mw_run_params *params);
void mw_report_json_times(struct mw_json *j, const struct mw_run_params *params,
                          const struct mw_workload *w, const struct mw_summary *s);
/// Everything, as one JSON text. Wall-clock figures come last in each system's object, and their
/// names end in `_wall`, except `sim_cycles_per_s`.
int mw_report_json(struct mw_json *j, const struct mw_run_params *params,
                   const struct mw_trace *trace, const struct mw_workload *w,
                   const struct mw_summary *summaries, unsigned count, struct mw_error *err);

/// What every workload's report has of a system: figures, ports and stalls, and what depends on
/// the clock on the wall.
void mw_report_json_summary(struct mw_json *j, const struct mw_summary *s, unsigned gpus);
void mw_report_json_wall(struct mw_json *j, const struct mw_summary *s);

#endif
