// SPDX-License-Identifier: Apache-2.0
//
// The environment of host_link in its test: the endpoints, registers on the bus, the GPUs'
// memories, mailbox and firmware. All of them wait at random, and behave as a model predicts.
#ifndef HOST_LINK_BENCH_H
#define HOST_LINK_BENCH_H

#include "Vhost_link.h"
#include "bench/dut.h"
#include "frames.h"

#include <deque>
#include <map>
#include <type_traits>

constexpr uint32_t VERSION = MW_HOST_PROTOCOL_MAJOR << 16 | MW_HOST_PROTOCOL_MINOR;
constexpr unsigned GPUS = 2, MEM_LOG2 = 17, BAD_REGISTER = 0x50000;

/// The firmware's reply to a command: a function of the whole request.
struct firmware_reply {
    uint8_t status;
    uint64_t argument;
    uint32_t count;
    bytes payload;
};

inline firmware_reply firmware(uint8_t kind, uint64_t argument, uint32_t count,
                               const bytes &payload)
{
    uint64_t mix =
        argument * 0x9e3779b97f4a7c15 + count * 31u + kind + crc32(payload.data(), payload.size());
    firmware_reply r = {static_cast<uint8_t>(mix % 5 ? MW_STATUS_OK : MW_STATUS_STATE),
                        mix,
                        static_cast<uint32_t>(mix >> 7),
                        {}};
    if (r.status == MW_STATUS_OK)
        r.payload.resize(8 * (mix >> 20) % 65 * 8 % 520);
    for (size_t i = 0; i < r.payload.size(); i++)
        r.payload[i] = static_cast<uint8_t>(mix >> i % 57);
    return r;
}

struct host_link_bench : tb::model<Vhost_link> {
    static constexpr unsigned FLIT =
        sizeof(std::remove_reference_t<decltype(Vhost_link::mem_wdata_o)>);

    // the wire
    std::deque<uint8_t> out;
    bytes transfer;
    std::deque<bytes> in;
    // rates of all parts in percent, and the most bytes per cycle
    unsigned out_rate = 100, in_rate = 100, mem_rate = 100, most_bytes = 8, delay = 1;

    /// Random rates of both ends and of memory, which answers within `longest` cycles.
    void rates(unsigned longest)
    {
        const unsigned rates[] = {100, 100, 80, 30};
        out_rate = rates[below(4)];
        in_rate = rates[below(4)];
        mem_rate = rates[below(4)];
        most_bytes = below(2) ? 8 : 1 + below(8);
        delay = 1 + below(longest);
    }

    bytes random_bytes(size_t size)
    {
        bytes b(size);
        for (auto &x : b)
            x = static_cast<uint8_t>(rng());
        return b;
    }

    // device side of the link
    std::map<uint32_t, uint32_t> registers;
    std::vector<bytes> memory = std::vector<bytes>(GPUS, bytes(1 << MEM_LOG2));
    uint64_t command[64] = {}, reply[64] = {};
    unsigned resets = 0;
    unsigned lose = 0; ///< number of the access that is lost, counted from now on; 0: none

  private:
    struct access {
        bool write;
        unsigned gpu;
        uint32_t flit;
        bytes data;
        uint64_t due;
    };
    std::deque<access> accesses;
    unsigned bus_wait = 0, firmware_wait = 0, reset_wait = 0;
    bool reply_valid = false;
    firmware_reply said = {};
    unsigned offered = 0;

    void data_out(const bytes &flit)
    {
        memcpy(reinterpret_cast<uint8_t *>(&dut.mem_rdata_i), flit.data(), FLIT);
    }

    bytes data_in()
    {
        bytes flit(FLIT);
        memcpy(flit.data(), reinterpret_cast<const uint8_t *>(&dut.mem_wdata_o), FLIT);
        return flit;
    }

    void endpoints()
    {
        // what is offered is stable until it is taken
        if (!offered && !out.empty() && percent(out_rate)) {
            size_t most = most_bytes < out.size() ? most_bytes : out.size();
            offered = out_rate == 100 ? static_cast<unsigned>(most)
                                      : 1 + below(static_cast<uint32_t>(most));
        }
        uint64_t word = rng();
        for (unsigned i = 0; i < offered; i++)
            reinterpret_cast<uint8_t *>(&word)[i] = out[i];
        dut.out_valid_i = offered > 0;
        dut.out_bytes_i = offered;
        dut.out_data_i = word;
        dut.in_ready_i = percent(in_rate);
    }

    void bus()
    {
        dut.bus_ack_i = 0;
        dut.bus_err_i = 0;
        dut.bus_rdata_i = rng.word();
        if (!dut.bus_req_o || bus_wait++ < delay)
            return;
        bus_wait = 0;
        dut.bus_ack_i = 1;
        dut.bus_err_i = dut.bus_addr_o >= BAD_REGISTER;
        if (dut.bus_err_i)
            return;
        if (dut.bus_we_o)
            registers[dut.bus_addr_o] = dut.bus_wdata_o;
        else
            dut.bus_rdata_i = registers[dut.bus_addr_o];
    }

    void memories()
    {
        dut.mem_ready_i = dut.mem_claim_o && accesses.size() < 8 && percent(mem_rate);
        dut.mem_rvalid_i = dut.mem_lost_i = 0;
        dut.mem_idle_i = accesses.empty() && !dut.mem_claim_o;
        if (accesses.empty() || accesses.front().due > now)
            return;
        access a = accesses.front();
        accesses.pop_front();
        uint8_t *at = &memory[a.gpu][static_cast<size_t>(a.flit) * FLIT];
        dut.mem_lost_i = lose > 0 && --lose == 0;
        if (a.write) {
            memcpy(at, a.data.data(), FLIT);
        } else {
            dut.mem_rvalid_i = 1;
            data_out(bytes(at, at + FLIT));
        }
    }

    void take_access()
    {
        if (!dut.mem_valid_o || !dut.mem_ready_i)
            return;
        assert_true(dut.mem_gpu_o < GPUS);
        assert_true(dut.mem_addr_o < (1u << MEM_LOG2) / FLIT);
        accesses.push_back({static_cast<bool>(dut.mem_we_o), dut.mem_gpu_o, dut.mem_addr_o,
                            data_in(), now + 2 + (mem_rate < 100 ? below(delay) : 0)});
    }

    void mailbox_before()
    {
        dut.reply_valid_i = reply_valid;
        // message_t: kind, words, count, argument from the highest bits down
        auto *r = reinterpret_cast<uint32_t *>(&dut.reply_i);
        uint64_t words = said.payload.size() / 8;
        r[0] = static_cast<uint32_t>(said.argument);
        r[1] = static_cast<uint32_t>(said.argument >> 32);
        r[2] = said.count;
        r[3] = static_cast<uint32_t>(words | static_cast<uint64_t>(said.status) << 7);
    }

    void mailbox_after()
    {
        if (dut.give_o) {
            const auto *c = reinterpret_cast<const uint32_t *>(&dut.command_o);
            unsigned words = c[3] & 0x7f, kind = c[3] >> 7 & 0xff;
            const auto *p = reinterpret_cast<const uint8_t *>(command);
            said = firmware(static_cast<uint8_t>(kind), c[0] | static_cast<uint64_t>(c[1]) << 32,
                            c[2], bytes(p, p + 8 * words));
            memcpy(reply, said.payload.data(), said.payload.size());
            firmware_wait = 1 + below(20 * delay);
        } else if (firmware_wait > 0 && --firmware_wait == 0) {
            reply_valid = true;
        } else if (dut.taken_o) {
            reply_valid = false;
        }
        if (dut.cmd_we_o)
            command[dut.cmd_waddr_o] = dut.cmd_wdata_o;
        if (dut.rep_we_o)
            reply[dut.rep_waddr_o] = dut.rep_wdata_o;
        cmd_next = dut.cmd_re_o ? command[dut.cmd_raddr_o] : cmd_next;
        rep_next = dut.rep_re_o ? reply[dut.rep_raddr_o] : rep_next;
    }

    // While the firmware has a command or a RESET waits, unheard_o shows whether the link was reset
    // since.
    static constexpr uint64_t NEVER = UINT64_MAX;
    uint64_t command_since = NEVER, reset_since = NEVER, link_reset_at = 0;

    void check_unheard()
    {
        if (command_since != NEVER)
            assert_int_equal(dut.unheard_o, link_reset_at >= command_since);
        if (reset_since != NEVER)
            assert_int_equal(dut.unheard_o, link_reset_at >= reset_since);
        if (dut.give_o)
            command_since = now;
        else if (dut.taken_o)
            command_since = NEVER;
        // the decision was in the previous cycle
        if (!dut.reset_fabric_o)
            reset_since = NEVER;
        else if (reset_since == NEVER)
            reset_since = now - 1;
        if (dut.link_reset_i)
            link_reset_at = now;
    }

    uint64_t cmd_next = 0, rep_next = 0;
    uint64_t time_from = 0,
             last_time = 0; ///< the fabric's last reset, and what WAIT reported since

    /// For a complete reply. WAIT reports the time, which advances and is not in the future.
    void check_time()
    {
        mw_frame_header h;
        memcpy(&h, transfer.data(), sizeof h);
        if (h.type != (MW_FRAME_WAIT | MW_FRAME_REPLY) || h.status != MW_STATUS_OK)
            return;
        assert_in_range(h.argument, last_time, now - time_from);
        last_time = h.argument;
    }

  public:
    host_link_bench()
    {
        dut.link_reset_i = 0;
        dut.done_i = 0;
        dut.reset_done_i = 0;
        dut.out_valid_i = dut.in_ready_i = dut.bus_ack_i = dut.mem_rvalid_i = dut.reply_valid_i = 0;
        dut.mem_lost_i = 0;
        reset();
    }

    void cycle() override
    {
        dut.cmd_rdata_i = cmd_next;
        dut.rep_rdata_i = rep_next;
        endpoints();
        mailbox_before();
        settle();
        dut.reset_done_i = dut.reset_fabric_o && reset_wait++ == 10;
        if (dut.reset_done_i) {
            reset_wait = 0;
            resets++;
        }
        bus();
        memories();
        settle();
        if (dut.out_valid_i && dut.out_ready_o) {
            out.erase(out.begin(), out.begin() + offered);
            offered = 0;
        }
        if (dut.in_valid_o && dut.in_ready_i) {
            uint64_t word = dut.in_data_o;
            const auto *p = reinterpret_cast<uint8_t *>(&word);
            // a reply to a write means that the data is in memory
            if (transfer.empty() && p[2] == (MW_FRAME_MEM_WRITE | MW_FRAME_REPLY) &&
                p[3] == MW_STATUS_OK)
                assert_true(accesses.empty());
            transfer.insert(transfer.end(), p, p + 8);
            if (dut.in_last_o) {
                check_time();
                in.push_back(transfer);
                transfer.clear();
            }
        }
        take_access();
        check_unheard();
        mailbox_after();
        if (dut.reset_fabric_o) {
            time_from = now;
            last_time = 0;
        }
        edge();
    }

    /// USB reset: both endpoints are empty afterwards.
    void reset_link()
    {
        dut.link_reset_i = 1;
        out.clear();
        offered = 0;
        dut.out_valid_i = 0;
        settle();
        cycle();
        dut.link_reset_i = 0;
        transfer.clear();
        in.clear();
    }

    void send(const bytes &frame) { out.insert(out.end(), frame.begin(), frame.end()); }

    frame receive(uint64_t limit = 2000000)
    {
        uint64_t since = now;
        while (in.empty()) {
            assert_true(now - since < limit);
            cycle();
        }
        frame f;
        assert_true(read_frame(in.front(), &f));
        in.pop_front();
        return f;
    }
};

#endif
