// SPDX-License-Identifier: Apache-2.0
//
// A grid of `moeswitch plan`: the commands that it lists, what they write as one table, and grids
// that no plan can be.
#include "host/support.h"
#include "host/words.h"

#include "plan/plan.h"
#include "sweep/sweep.h"

#define SWEEP(...) run_words(mw_sweep_command, "sweep", (const char *const[]){__VA_ARGS__, NULL})
#define REFUSE(part, ...) \
    refuse_words(mw_sweep_command, "sweep", (const char *const[]){__VA_ARGS__, NULL}, part)
#define PLAN \
    "{\"command\": \"plan\", \"model\": \"mixtral-8x7b\", \"hardware\": \"hgx-h100\"," \
    "\"goal\": \"prefill\", \"pp\": 1, "

enum { MOST_WORDS = 40, MOST_LINES = 16 };

static const char *grid_of(const char *text)
{
    return scratch_text("grid.json", text);
}

/// Do what a shell does with a line of --list.
static void run_line(char *line)
{
    const char *word[MOST_WORDS + 1];
    unsigned count = 0;
    char *at = strstr(line, " plan ");
    assert_non_null(at);
    for (at = strtok(at + strlen(" plan "), " "); at && count < MOST_WORDS; at = strtok(NULL, " "))
        word[count++] = at;
    word[count] = NULL;
    assert_int_equal(run_words(mw_plan_command, "plan", word), MW_EXIT_OK);
}

/// Every listed command alone makes its row. A second sweep has nothing left to list.
static void lists_plans_and_collects_them(void **state)
{
    (void)state;
    char folder[200], path[256], *line[MOST_LINES];
    unsigned lines = 0;
    const char *grid = grid_of(
        PLAN "\"gpus\": [8, 16], \"overlap-batches\": true, \"system\": \"unicast,dysharp\"}");
    snprintf(folder, sizeof folder, "%s", scratch("plans"));
    assert_int_equal(SWEEP(grid, "--list", "--out", folder), MW_EXIT_OK);
    char *text = strdup(out_text);
    for (char *at = strtok(text, "\n"); at; at = strtok(NULL, "\n"))
        line[lines++] = at;
    assert_int_equal(lines, 4);
    for (unsigned i = 0; i < lines; i++)
        run_line(line[i]);
    free(text);
    assert_int_equal(SWEEP(grid, "--list", "--out", folder), MW_EXIT_OK);
    assert_string_equal(out_text, "");
    assert_int_equal(SWEEP(grid, "--collect", "--out", folder), MW_EXIT_OK);
    assert_non_null(strstr(out_text, "4 of 4 runs"));
    snprintf(path, sizeof path, "%s/results.csv", folder);
    char *table = read_file(path);
    assert_non_null(table);
    assert_int_equal(strncmp(table, "system,model,hardware,goal,gpus,", 32), 0);
    assert_non_null(strstr(table, "\nunicast,mixtral-8x7b,hgx-h100,prefill,8,"));
    assert_non_null(strstr(table, "\ndysharp,mixtral-8x7b,hgx-h100,prefill,16,"));
    free(table);
}

static void refuses_grids(void **state)
{
    (void)state;
    REFUSE("\"command\": expected \"run\" or \"plan\"", grid_of("{\"command\": \"bench\"}"));
    REFUSE("\"command\": expected \"run\" or \"plan\"", grid_of("{\"command\": 1}"));
    REFUSE("\"k\" is no option of moeswitch plan", grid_of(PLAN "\"k\": 2}"));
    REFUSE("\"html\": the sweep itself says that", grid_of(PLAN "\"html\": \"x\"}"));
    REFUSE("--ep 3: does not divide 8 experts (at ep 3, system unicast)",
           grid_of(PLAN "\"ep\": [2, 3]}"));
    REFUSE("--hardware is missing",
           grid_of("{\"command\": \"plan\", \"model\": \"mixtral-8x7b\"}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_plans_and_collects_them),
        cmocka_unit_test(refuses_grids),
    };
    return cmocka_run_group_tests_name("plan_grid", tests, scratch_make, finish_words);
}
