// SPDX-License-Identifier: Apache-2.0
//
// The link in C (sim/usb/device.c), which replaces the hardware in tests of the host's software. It
// gets the same bytes as the hardware. Each of its replies must be the one that the reader of the
// protocol predicts. Replies of the firmware are not compared.
#ifndef LINK_MODEL_H
#define LINK_MODEL_H

#include "frames.h"

#include <cstdlib>
#include <deque>
#include <functional>
#include <map>

extern "C" {
#define restrict __restrict // C's word, in headers of C
#include "usb/device.h"
#undef restrict
}

/// A reply as the reader expects it. For new_key the device chooses the upper half of the argument.
struct answer {
    mw_frame_header header = {};
    bytes payload;
    bool new_key = false, any_argument = false;
    std::function<void(std::vector<bytes> &)> then; ///< other changes of the memories
};

class link_model {
  public:
    std::vector<bytes> memory;
    std::map<uint32_t, uint32_t> registers;
    std::deque<answer> expected;
    bool layer_done = false;
    unsigned compared = 0;

    link_model(unsigned gpus, unsigned mem_log2, unsigned zeros, uint32_t no_register)
        : memory(gpus, bytes(size_t{1} << mem_log2)), bad_register(no_register)
    {
        mwd_backend b = {};
        b.context = this;
        b.name = "model";
        b.gpus = gpus;
        b.flit_bytes = 8;
        b.mem_bytes = size_t{1} << mem_log2;
        b.cfg = cfg;
        b.mem = mem;
        b.run = [](void *self, uint64_t) { return static_cast<link_model *>(self)->layer_done; };
        b.cycles = [](void *) { return uint64_t{0}; };
        b.reset = [](void *) { return 0; };
        mwd_settings s = {};
        s.serial = "model";
        s.packet = PACKET;
        s.zeros = zeros;
        s.features = 1u << MW_FEATURE_FABRIC |
                     1u << MW_FEATURE_LOG; // the others change memories and registers
        device = mwd_create(&b, &s);
        assert_non_null(device);
    }
    link_model(const link_model &) = delete;
    link_model &operator=(const link_model &) = delete;
    ~link_model() { mwd_destroy(device); }

    /// The link is reset. Bytes that were not fed to it are discarded.
    void reset()
    {
        mwd_bus_reset(device);
        expected.clear();
    }

    /// The key of the hardware's session, which the host uses from now on.
    void set_key(uint32_t key) { mwd_set_key(device, key); }

    /// Feeds a transfer of these bytes.
    void feed(const uint8_t *data, size_t count)
    {
        while (!mwd_out(device, data, count))
            assert_true(work());
        while (work())
            ;
    }

  private:
    static constexpr unsigned PACKET = 512, ROOM = 1 << 17;
    mwd_device *device;
    uint32_t bad_register;

    static int cfg(void *context, bool write, uint32_t address, uint32_t *value)
    {
        auto *self = static_cast<link_model *>(context);
        if (address >= self->bad_register)
            return -1;
        if (write)
            self->registers[address] = *value;
        *value = self->registers[address];
        return 0;
    }

    static int mem(void *context, bool write, unsigned gpu, uint64_t offset, uint8_t *data,
                   size_t count)
    {
        uint8_t *at = &static_cast<link_model *>(context)->memory[gpu][offset];
        memcpy(write ? at : data, write ? data : at, count);
        return 0;
    }

    /// One request and its reply. Returns whether there was any output.
    bool work()
    {
        const bool more = mwd_work(device);
        bool any = false;
        bytes transfer(ROOM);
        for (int n; (n = mwd_in(device, transfer.data(), ROOM)) != MWD_NAK; any = true)
            check(bytes(transfer.begin(), transfer.begin() + n));
        return more || any;
    }

    static bool firmware_answers(unsigned type)
    {
        return type == MW_FRAME_INFO || (type >= MW_FRAME_SELFTEST && type < MW_FRAME_REPLY);
    }

    void check(const bytes &transfer)
    {
        frame f;
        assert_true(read_frame(transfer, &f));
        mw_frame_header &h = f.header;
        if (expected.empty())
            fail_msg("the C model replies 0x%02x, status %u, where nothing was expected", h.type,
                     h.status);
        answer a = expected.front();
        expected.pop_front();
        if (a.then)
            a.then(memory);
        a.header.magic = h.magic;
        a.header.crc = h.crc;
        a.header.words = static_cast<uint16_t>(a.payload.size() / 8);
        if (a.new_key) // it makes its own
            a.header.argument =
                (h.argument & ~UINT64_C(0xffffffff)) | static_cast<uint32_t>(a.header.argument);
        else if (a.any_argument)
            a.header.argument = h.argument;
        const bool refused =
            a.header.status == MW_STATUS_PAYLOAD || a.header.status == MW_STATUS_TYPE;
        if (firmware_answers(a.header.type & ~static_cast<unsigned>(MW_FRAME_REPLY)) && !refused) {
            a.header = {h.magic, a.header.type, h.status, a.header.sequence,
                        h.words, h.argument,    h.count,  h.crc};
            a.payload = f.payload;
        }
        compared++;
        if (memcmp(&a.header, &h, sizeof h) || f.payload != a.payload)
            fail_msg("the C model replies 0x%02x to %u, status %u, count 0x%x, %u words; expected "
                     "0x%02x to %u, "
                     "status %u, count 0x%x, %u words",
                     h.type, h.sequence, h.status, h.count, h.words, a.header.type,
                     a.header.sequence, a.header.status, a.header.count, a.header.words);
    }
};

#endif
