// SPDX-License-Identifier: Apache-2.0
//
// cfg_bus between two masters and two slaves with random delays. Each access reaches the slave of
// its address once, with all of its bits. Its answer reaches the master that waits for it. The
// masters alternate.
#include "Vcfg_bus.h"
#include "bench/dut.h"

#include "map.h"

using namespace tb;

namespace {
struct bench : model<Vcfg_bus> {
    struct request {
        bool here, we;
        uint32_t addr, wdata;
    } wants[2] = {};
    struct {
        bool err;
        uint32_t rdata;
    } answer = {};
    int master = -1;       // the master whose access a slave sees
    bool answered = false; // its slave has answered; the master gets the answer in this cycle
    unsigned last = 0;     // the master that was served last
    unsigned served[2] = {}, by[2] = {}, turns = 0;

    bench()
    {
        for (unsigned i = 0; i < 2; i++)
            dut.m_req_i[i] = dut.s_ack_i[i] = 0;
        reset();
    }

    static unsigned slave_of(uint32_t addr)
    {
        return addr >> 16 == MW_MAP_SOC >> 16 || addr >> 20 == MW_MAP_SOC_RAM >> 20;
    }

    uint32_t address()
    {
        const uint32_t base =
            rng.pick({MW_MAP_SOC, MW_MAP_SOC_RAM, MW_MAP_NODES, 0U}) ^ (1U << below(32));
        return (percent(50) ? base : static_cast<uint32_t>(rng.bits(32))) ^
               static_cast<uint32_t>(rng.bits(12));
    }

    void drive() override
    {
        for (unsigned i = 0; i < 2; i++) {
            auto &w = wants[i];
            if (!w.here && percent(30))
                w = {true, percent(50), percent(20) ? MW_MAP_SOC | below(4096) : address(),
                     static_cast<uint32_t>(rng.bits(32))};
            dut.m_req_i[i] = w.here;
            dut.m_we_i[i] = w.we;
            dut.m_addr_i[i] = w.addr;
            dut.m_wdata_i[i] = w.wdata;
            dut.s_ack_i[i] = 0;
            dut.s_err_i[i] = percent(50);
            dut.s_rdata_i[i] = static_cast<uint32_t>(rng.bits(32));
        }
        if (master >= 0 && !answered && percent(40))
            dut.s_ack_i[slave_of(wants[master].addr)] = 1;
    }

    void sample() override
    {
        for (unsigned i = 0; i < 2; i++) {
            const bool sees = master >= 0 && !answered && slave_of(wants[master].addr) == i;
            SAME(dut.s_req_o[i], sees);
            if (sees) {
                SAME(dut.s_we_o[i], wants[master].we);
                SAME(dut.s_addr_o[i], wants[master].addr);
                SAME(dut.s_wdata_o[i], wants[master].wdata);
                SAME(dut.s_host_o, master == 0);
            }
            SAME(dut.m_ack_o[i], answered && master == static_cast<int>(i));
        }
        if (answered) {
            SAME(dut.m_rdata_o[master], answer.rdata);
            SAME(dut.m_err_o[master], answer.err);
            served[master]++;
            wants[master].here = answered = false;
            master = -1;
        } else if (master >= 0) {
            const unsigned slave = slave_of(wants[master].addr);
            if (dut.s_ack_i[slave]) {
                answer = {dut.s_err_i[slave] != 0, dut.s_rdata_i[slave]};
                answered = true;
                by[slave]++;
            }
        } else if (wants[0].here || wants[1].here) {
            const bool both = wants[0].here && wants[1].here;
            master = both ? static_cast<int>(1 - last) : wants[1].here;
            turns += both;
            last = static_cast<unsigned>(master);
        }
    }
};
} // namespace

TEST(accesses_of_two_masters)
{
    bench b;
    b.cycles(20000);
    for (unsigned i = 0; i < 2; i++)
        assert_true(b.served[i] > 1000 && b.by[i] > 500);
    assert_true(b.turns > 500);
}
