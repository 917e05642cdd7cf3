// SPDX-License-Identifier: Apache-2.0
//
// Canceled transfers of the simulated device. Later answers to their reads are discarded.
#include "fabric_plain.cpp"
#include "shim.cpp"

#include <csetjmp>
#include <cstdarg>
#include <cstdio>

extern "C" {
#include <cmocka.h>
}

namespace {
constexpr unsigned FLITS = 40;

struct read_back {
    uint32_t data[FLITS][FLIT_BYTES / 4];
    mw_sim_transfer piece;
};

int read_flits(mw_sim *s, unsigned gpu, uint32_t flit, uint32_t flits)
{
    static read_back r;
    r = read_back{};
    r.piece = {gpu, false, flit, flits, reinterpret_cast<uint8_t *>(r.data)};
    const int status = transfer(s, &r.piece, 1);
    for (uint32_t i = 0; i < FLITS; i++) {
        const bool read = !status && i < flits;
        if (status == 0 &&
            (r.data[i][0] != (read ? flit + i : 0) || r.data[i][1] != (read ? gpu : 0)))
            fail_msg("flit %u: %u of GPU %u", i, r.data[i][0], r.data[i][1]);
    }
    return status;
}

Vfabric &model_of(mw_sim *s)
{
    return static_cast<fabric_of<device> &>(*s->device).device.bus;
}

mw_sim *give_up()
{
    mw_sim *s = create(nullptr);
    assert_non_null(s);
    assert_int_equal(read_flits(s, 1, 100, FLITS), 0);
    model_of(s).hold = true;
    assert_int_equal(read_flits(s, 1, 500, FLITS), -2);
    model_of(s).hold = false;
    return s;
}

// The answers arrive while the next transfer reads.
void at_once(void **)
{
    mw_sim *s = give_up();
    assert_int_equal(read_flits(s, 1, 200, 3), 0);
    assert_int_equal(read_flits(s, 0, 300, FLITS), 0);
    destroy(s);
}

// ... while the device runs, some of them
void meanwhile(void **)
{
    mw_sim *s = give_up();
    run(s, FLITS / 2);
    assert_int_equal(read_flits(s, 1, 200, 3), 0);
    destroy(s);
}

// ... never, because their node was reset, or the device was
void never(void **)
{
    mw_sim *s = give_up();
    model_of(s).asked[1].clear();
    assert_int_equal(read_flits(s, 1, 200, FLITS), 0);
    model_of(s).hold = true;
    assert_int_equal(read_flits(s, 1, 500, FLITS), -2);
    model_of(s).hold = false;
    model_of(s).asked[1].clear();
    const uint64_t before = s->cycles;
    reset(s);
    assert_int_equal(read_flits(s, 1, 200, FLITS), 0);
    assert_true(s->cycles - before < 100);
    destroy(s);
}
} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(at_once), cmocka_unit_test(meanwhile),
                                cmocka_unit_test(never)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
