// SPDX-License-Identifier: Apache-2.0
//
// A host of host_link that makes valid and invalid requests at random, and predicts each reply.
#ifndef LINK_HOST_H
#define LINK_HOST_H

#include "host_link_bench.h"

struct expected {
    mw_frame_header header;
    bytes payload;
    bool any_argument = false, makes_key = false;
};

constexpr uint32_t KEYLESS = MW_HOST_PROTOCOL_MAJOR << 16 | (MW_HOST_KEY_MINOR - 1);

/// A host that makes requests and predicts the replies.
struct host : host_link_bench {
    uint16_t number = 0;
    uint32_t version = VERSION, key = 0, last_key = 0;
    bool fresh = true; ///< nothing was sent since the reset of the link
    std::map<uint32_t, uint32_t> model_registers;
    std::vector<bytes> model_memory = memory;
    std::deque<expected> expect;

    mw_frame_header request(unsigned kind, uint64_t argument = 0, uint32_t count = 0)
    {
        mw_frame_header h = {};
        h.type = static_cast<uint8_t>(kind);
        h.sequence = number++;
        h.argument = argument;
        h.count = count;
        return h;
    }

    expected reply(const mw_frame_header &h, unsigned status)
    {
        expected e = {};
        e.header.type = h.type | MW_FRAME_REPLY;
        e.header.sequence = h.sequence;
        e.header.status = static_cast<uint8_t>(status);
        return e;
    }

    void add(const mw_frame_header &h, const bytes &payload, const expected &e)
    {
        put(h, payload);
        expect.push_back(e);
    }

    void put(const mw_frame_header &h, const bytes &payload = {})
    {
        send(make_frame(h, payload, h.type == MW_FRAME_SYNC ? 0 : key));
    }

    void zeros(size_t count) { out.insert(out.end(), count, 0); }

    mw_frame_header sync_header()
    {
        number = static_cast<uint16_t>(rng());
        return request(MW_FRAME_SYNC, rng(), version);
    }

    /// Synchronizes, after all previous replies. The gap is sent where it is required.
    void sync(unsigned status = MW_STATUS_OK)
    {
        zeros(fresh ? 0 : MW_HOST_SYNC_GAP);
        mw_frame_header h = sync_header();
        expected e = reply(h, status);
        e.header.argument = h.argument;
        e.header.count = VERSION;
        e.makes_key =
            h.count >> 16 == MW_HOST_PROTOCOL_MAJOR && (h.count & 0xffff) >= MW_HOST_KEY_MINOR;
        add(h, {}, e);
        fresh = false;
        check_all();
        if (!e.makes_key)
            key = 0;
    }

    void restart()
    {
        reset_link();
        expect.clear();
        fresh = true;
    }

    /// A range of a memory: mostly short, sometimes the longest, sometimes up to the memory's end.
    void piece(unsigned *gpu, uint32_t *at, uint32_t *size)
    {
        *gpu = below(GPUS);
        *size = 16 * (percent(90)   ? below(20)
                      : percent(70) ? below(300)
                                    : MW_HOST_MAX_PAYLOAD / 16);
        *at = 16 * below(((1u << MEM_LOG2) - *size) / 16 + 1);
        if (percent(10))
            *at = (1u << MEM_LOG2) - *size;
    }

    static uint64_t place(uint64_t gpu, uint64_t at) { return gpu << MW_HOST_GPU_SHIFT | at; }

    void mem_write()
    {
        unsigned gpu;
        uint32_t at, size;
        piece(&gpu, &at, &size);
        mw_frame_header h = request(MW_FRAME_MEM_WRITE, place(gpu, at));
        bytes data = random_bytes(size);
        if (size)
            memcpy(&model_memory[gpu][at], data.data(), size);
        add(h, data, reply(h, MW_STATUS_OK));
    }

    void mem_read()
    {
        unsigned gpu;
        uint32_t at, size;
        piece(&gpu, &at, &size);
        mw_frame_header h = request(MW_FRAME_MEM_READ, place(gpu, at), size);
        expected e = reply(h, MW_STATUS_OK);
        e.payload.assign(model_memory[gpu].begin() + at, model_memory[gpu].begin() + at + size);
        add(h, {}, e);
    }

    void registers_frame(bool write)
    {
        std::vector<mw_frame_register> r(percent(20) ? 64 : below(6)), values;
        unsigned done = 0;
        bool failed = false;
        for (auto &x : r) {
            x.address = 4 * below(12);
            if (percent(3))
                x.address = BAD_REGISTER;
            x.value = rng.word();
            failed = failed || x.address == BAD_REGISTER;
            if (failed)
                continue;
            done++;
            if (write)
                model_registers[x.address] = x.value;
            values.push_back({x.address, model_registers[x.address]});
        }
        mw_frame_header h = request(write ? MW_FRAME_REG_WRITE : MW_FRAME_REG_READ);
        expected e = reply(h, failed ? MW_STATUS_ACCESS : MW_STATUS_OK);
        e.header.count = write || failed ? done : 0;
        if (!write && !failed) {
            e.payload.resize(8 * values.size());
            if (!values.empty())
                memcpy(e.payload.data(), values.data(), e.payload.size());
        }
        bytes payload(8 * r.size());
        if (!r.empty())
            memcpy(payload.data(), r.data(), payload.size());
        add(h, payload, e);
    }

    void firmware_frame()
    {
        const unsigned kinds[] = {MW_FRAME_INFO,      MW_FRAME_SELFTEST, MW_FRAME_LOG_READ,
                                  MW_FRAME_LOG_CLEAR, MW_FRAME_FEED,     MW_FRAME_FED};
        const unsigned kind = kinds[below(6)];
        const uint64_t argument = rng();
        mw_frame_header h = request(kind, argument, rng.word());
        command(h, random_bytes(percent(50) ? 0 : 8 * below(65)));
    }

    void command(const mw_frame_header &h, const bytes &payload)
    {
        firmware_reply f = firmware(h.type, h.argument, h.count, payload);
        expected e = reply(h, f.status);
        e.header.argument = f.argument;
        e.header.count = f.count;
        e.payload = f.payload;
        add(h, payload, e);
    }

    void wait_frame()
    {
        mw_frame_header h = request(MW_FRAME_WAIT, below(200));
        expected e = reply(h, MW_STATUS_OK);
        e.any_argument = true;
        e.header.count = dut.done_i;
        add(h, {}, e);
    }

    /// A request that must be refused, without any effect.
    void refused()
    {
        mw_frame_header h;
        bytes payload;
        unsigned status = MW_STATUS_LENGTH;
        switch (below(8)) {
        case 0:
            h = request(below(2) ? MW_FRAME_FED + 1 + below(100) : 0);
            payload = random_bytes(8 * below(100));
            status = MW_STATUS_TYPE;
            break;
        case 1:
            h = request(MW_FRAME_MEM_READ);
            h.count = below(2) ? MW_HOST_MAX_PAYLOAD + 16 : 16 * below(20) + 1 + below(15);
            break;
        case 2:
            h = request(MW_FRAME_MEM_READ, place(below(2) ? GPUS : 0xffff, 0), 16);
            status = MW_STATUS_RANGE;
            break;
        case 3:
            h = request(MW_FRAME_MEM_WRITE, (UINT64_C(1) << MEM_LOG2) - 16 * below(3));
            payload = random_bytes(48 + 16 * below(20));
            status = MW_STATUS_RANGE;
            break;
        case 4:
            h = request(MW_FRAME_MEM_WRITE, 1 + below(15));
            payload = random_bytes(16);
            status = MW_STATUS_RANGE;
            break;
        case 5:
            h = request(MW_FRAME_MEM_WRITE);
            payload = random_bytes(8 + 16 * below(20));
            break;
        case 6:
            h = request(below(2) ? MW_FRAME_WAIT : MW_FRAME_RESET);
            payload = random_bytes(8 + 8 * below(10));
            break;
        default:
            h = request(below(2) ? MW_FRAME_REG_WRITE : MW_FRAME_INFO);
            payload = random_bytes(MW_HOST_MAX_COMMAND + 8 + 8 * below(100));
        }
        add(h, payload, reply(h, status));
    }

    /// A valid frame with a payload that was damaged on its way. Nothing is done, except that
    /// memory may hold anything. The end of the frame is unknown.
    void damaged_payload()
    {
        size_t before = out.size();
        uint16_t last = number;
        auto registers_before = model_registers;
        switch (below(3)) {
        case 0:
            mem_write();
            break;
        case 1:
            registers_frame(true);
            break;
        default:
            firmware_frame();
        }
        size_t size = out.size() - before;
        if (size == sizeof(mw_frame_header))
            return;
        size_t at = before + sizeof(mw_frame_header) +
                    below(static_cast<uint32_t>(size - sizeof(mw_frame_header)));
        out[at] ^= static_cast<uint8_t>(1u << below(8));
        expected e = expect.back();
        e.payload.clear();
        e.header.status = MW_STATUS_PAYLOAD;
        e.header.argument = e.header.count = 0;
        expect.back() = e;
        model_registers = registers_before;
        check_all();
        link_error(MW_STATUS_PAYLOAD, 0, last);
        sync();
        if (e.header.type == (MW_FRAME_MEM_WRITE | MW_FRAME_REPLY)) {
            // the host writes the range again, here the whole memory
            for (unsigned g = 0; g < GPUS; g++)
                rewrite(g);
        }
    }

    void rewrite(unsigned gpu)
    {
        for (uint32_t at = 0; at < 1u << MEM_LOG2; at += MW_HOST_MAX_PAYLOAD) {
            mw_frame_header h = request(MW_FRAME_MEM_WRITE, place(gpu, at));
            bytes data = random_bytes(MW_HOST_MAX_PAYLOAD);
            memcpy(&model_memory[gpu][at], data.data(), data.size());
            add(h, data, reply(h, MW_STATUS_OK));
        }
    }

    void any_request()
    {
        switch (below(10)) {
        case 0:
        case 1:
            mem_write();
            break;
        case 2:
        case 3:
            mem_read();
            break;
        case 4:
            registers_frame(true);
            break;
        case 5:
            registers_frame(false);
            break;
        case 6:
            firmware_frame();
            break;
        case 7:
            wait_frame();
            break;
        case 8:
            refused();
            break;
        default:
            // zeros between frames are ignored
            out.insert(out.end(), below(20), 0);
            mem_read();
        }
    }

    /// A valid request that the device must not execute. The caller clears `expect`.
    void ignored_request()
    {
        const auto memory_then = model_memory;
        const auto registers_then = model_registers;
        any_request();
        model_memory = memory_then;
        model_registers = registers_then;
    }

    void check_reply()
    {
        frame f = receive();
        assert_false(expect.empty());
        expected e = expect.front();
        expect.pop_front();
        assert_int_equal(f.header.type, e.header.type);
        assert_int_equal(f.header.sequence, e.header.sequence);
        assert_int_equal(f.header.status, e.header.status);
        if (e.makes_key) {
            assert_int_equal(static_cast<uint32_t>(f.header.argument),
                             static_cast<uint32_t>(e.header.argument));
            assert_true(f.header.argument >> 32 & 1);
            assert_true(f.header.argument >> 32 != key);
            last_key = key;
            key = static_cast<uint32_t>(f.header.argument >> 32);
        } else if (!e.any_argument) {
            assert_true(f.header.argument == e.header.argument);
        }
        assert_int_equal(f.header.count, e.header.count);
        assert_int_equal(f.header.words * 8u, e.payload.size());
        assert_int_equal(f.trailer, 0);
        assert_memory_equal(f.payload.data(), e.payload.data(), e.payload.size());
    }

    void check_all()
    {
        while (!expect.empty())
            check_reply();
        settle();
        if (out.empty())
            assert_false(dut.mem_claim_o); // others may use the memories
    }

    void quiet(unsigned n)
    {
        cycles(n);
        assert_true(in.empty());
    }

    /// Any request is answered.
    void works()
    {
        any_request();
        check_all();
    }

    void link_error(unsigned status, uint32_t seen, uint16_t last)
    {
        frame f = receive();
        assert_int_equal(f.header.type, MW_FRAME_LINK_ERROR);
        assert_int_equal(f.header.status, status);
        assert_int_equal(f.header.sequence, last);
        assert_int_equal(f.header.count, seen);
        assert_int_equal(f.header.words, 0);
    }
};

/// Concatenates the parts.
inline bytes join(std::initializer_list<bytes> parts)
{
    bytes all;
    for (const bytes &p : parts)
        all.insert(all.end(), p.begin(), p.end());
    return all;
}

#endif
