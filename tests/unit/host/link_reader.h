// SPDX-License-Identifier: Apache-2.0
//
// A reader of docs/reference/host-protocol.md. From the bytes that a device gets, it predicts each
// reply and the contents of memories and registers. It reads a new key from the reply.
#ifndef LINK_READER_H
#define LINK_READER_H

#include "host_link_bench.h"
#include "link_model.h"

#include <algorithm>
#include <set>

#ifndef ZEROS
#define ZEROS 64 // of a SYNC: the module's parameter here
#endif

/// The protocol, as specified on its page.
struct protocol {
    std::vector<bytes> memory = std::vector<bytes>(GPUS, bytes(1 << MEM_LOG2));
    std::map<uint32_t, uint32_t> registers;
    unsigned resets = 0;
    bool layer_done = false;

    bool in_step = false, guarded = false, foreign = false;
    bool blocked = false; ///< until the key of the new session is set
    uint32_t key = 0;
    uint16_t number = 0;
    std::deque<answer> answers, new_answers; ///< all, and those of the last call

    /// Number of bytes that have been read. More may have arrived.
    uint64_t read() const { return forgotten + at; }

    void take(const bytes &b)
    {
        stream.insert(stream.end(), b.begin(), b.end());
        run();
    }

    void set_key(uint32_t k)
    {
        key = k;
        blocked = false;
        run();
    }

    /// Number of zeros that end the frame in progress.
    size_t missing() const
    {
        size_t whole = in_payload ? 8 * (head.words + size_t(1)) : sizeof head;
        return whole - std::min(whole, stream.size() - at);
    }

  private:
    bytes stream;
    size_t at = 0, zeros = ZEROS;
    uint64_t forgotten = 0; ///< bytes before the stream
    bool in_payload = false;
    mw_frame_header head = {};

    void run()
    {
        while (!blocked && (in_payload ? payload() : between()))
            ;
        if (at > 1 << 16) {
            stream.erase(stream.begin(), stream.begin() + static_cast<long>(at));
            forgotten += at;
            at = 0;
        }
    }

    /// Updates the number of zeros before the next byte by `count` words.
    void words(size_t count)
    {
        for (; count; count--, at += 8)
            zeros = std::any_of(&stream[at], &stream[at] + 8, [](uint8_t b) { return b != 0; })
                        ? 0
                        : zeros + 8;
    }

    bool between()
    {
        size_t left = stream.size() - at;
        if (left && !stream[at]) {
            zeros++;
            at++;
            return true;
        }
        if (left < 2)
            return false;
        uint16_t first = static_cast<uint16_t>(stream[at] | stream[at + 1] << 8);
        if (first == MW_HOST_MAGIC) {
            if (left < sizeof head)
                return false;
            bool gap = zeros >= ZEROS;
            memcpy(&head, &stream[at], sizeof head);
            words(3);
            header(gap);
        } else if (in_step) {
            lose(MW_STATUS_HEADER, first);
        } else {
            zeros = 0;
            at++;
        }
        return true;
    }

    void tell(const answer &a)
    {
        answers.push_back(a);
        new_answers.push_back(a);
    }

    void lose(unsigned status, uint32_t seen)
    {
        answer a;
        a.header.type = MW_FRAME_LINK_ERROR;
        a.header.status = static_cast<uint8_t>(status);
        a.header.sequence = static_cast<uint16_t>(number - 1);
        a.header.count = seen;
        tell(a);
        in_step = false;
    }

    void header(bool gap)
    {
        bool sync = head.type == MW_FRAME_SYNC;
        uint32_t crc = crc32(reinterpret_cast<uint8_t *>(&head), 20) ^ (sync ? 0 : key);
        bool good = crc == head.crc && head.words <= MW_HOST_MAX_PAYLOAD / 8 && head.type < 0x80 &&
                    (!sync || (!head.words && gap));
        if (!good) {
            if (in_step)
                lose(MW_STATUS_HEADER, head.magic);
        } else if (sync) {
            session();
        } else if (in_step && head.sequence != number) {
            lose(MW_STATUS_SEQUENCE, head.sequence);
        } else if (in_step) {
            number++;
            in_payload = head.words;
            if (!head.words)
                carry_out({}, true);
        }
    }

    void session()
    {
        bool same = head.count >> 16 == MW_HOST_PROTOCOL_MAJOR;
        bool keys = same && (head.count & 0xffff) >= MW_HOST_KEY_MINOR;
        foreign = !same || (guarded && !keys);
        guarded |= keys;
        in_step = true;
        number = static_cast<uint16_t>(head.sequence + 1);
        key = 0;
        answer a = reply(foreign ? MW_STATUS_VERSION : MW_STATUS_OK);
        a.header.argument = head.argument;
        a.header.count = VERSION;
        a.new_key = blocked = keys;
        tell(a);
    }

    answer reply(unsigned status) const
    {
        answer a;
        a.header.type = head.type | MW_FRAME_REPLY;
        a.header.sequence = head.sequence;
        a.header.status = static_cast<uint8_t>(status);
        return a;
    }

    bool payload()
    {
        size_t size = 8 * size_t(head.words);
        if (stream.size() - at < size + 8)
            return false;
        const uint8_t *p = &stream[at];
        uint32_t crc;
        memcpy(&crc, p + size + 4, 4);
        bytes data(p, p + size);
        bool right = crc32(p, size + 4, key ? head.crc : 0) == crc;
        words(head.words + size_t(1));
        in_payload = false;
        carry_out(data, right);
        if (!right)
            lose(MW_STATUS_PAYLOAD, 0);
        return true;
    }

    unsigned verdict() const
    {
        static const std::set<unsigned> types = {
            MW_FRAME_INFO,      MW_FRAME_REG_READ,  MW_FRAME_REG_WRITE, MW_FRAME_MEM_READ,
            MW_FRAME_MEM_WRITE, MW_FRAME_WAIT,      MW_FRAME_RESET,     MW_FRAME_SELFTEST,
            MW_FRAME_LOG_READ,  MW_FRAME_LOG_CLEAR, MW_FRAME_FEED,      MW_FRAME_FED};
        if (!types.count(head.type) || (foreign && head.type != MW_FRAME_INFO))
            return MW_STATUS_TYPE;
        bool read = head.type == MW_FRAME_MEM_READ, write = head.type == MW_FRAME_MEM_WRITE;
        bool none = read || head.type == MW_FRAME_WAIT || head.type == MW_FRAME_RESET;
        if ((none && head.words) || (!write && 8u * head.words > MW_HOST_MAX_COMMAND))
            return MW_STATUS_LENGTH;
        if (!read && !write)
            return MW_STATUS_OK;
        uint64_t size = read ? head.count : 8u * head.words;
        uint64_t gpu = head.argument >> MW_HOST_GPU_SHIFT;
        uint64_t from = head.argument & ((UINT64_C(1) << MW_HOST_GPU_SHIFT) - 1);
        if (size % MW_HOST_MEM_BYTES_ALIGN || size > MW_HOST_MAX_PAYLOAD)
            return MW_STATUS_LENGTH;
        if (gpu >= GPUS || from % MW_HOST_MEM_BYTES_ALIGN || from + size > 1 << MEM_LOG2)
            return MW_STATUS_RANGE;
        return MW_STATUS_OK;
    }

    void carry_out(const bytes &data, bool right)
    {
        unsigned status = verdict();
        uint8_t *place = &memory[head.argument >> MW_HOST_GPU_SHIFT & (GPUS - 1)]
                                [head.argument & ((1 << MEM_LOG2) - 1)];
        // the memory has the received bytes, right or wrong
        if (status == MW_STATUS_OK && head.type == MW_FRAME_MEM_WRITE && !data.empty())
            memcpy(place, data.data(), data.size());
        answer a = reply(right ? status : +MW_STATUS_PAYLOAD);
        if (!right && status == MW_STATUS_OK && head.type == MW_FRAME_MEM_WRITE)
            a.then = [data, gpu = head.argument >> MW_HOST_GPU_SHIFT & (GPUS - 1),
                      from = head.argument & ((1 << MEM_LOG2) - 1)](std::vector<bytes> &m) {
                std::copy(data.begin(), data.end(), m[gpu].begin() + static_cast<long>(from));
            };
        if (right && status == MW_STATUS_OK) {
            switch (head.type) {
            case MW_FRAME_MEM_WRITE:
                break;
            case MW_FRAME_MEM_READ:
                a.payload.assign(place, place + head.count);
                break;
            case MW_FRAME_REG_READ:
            case MW_FRAME_REG_WRITE:
                list(data, &a);
                break;
            case MW_FRAME_WAIT:
                a.any_argument = true;
                a.header.count = layer_done;
                break;
            case MW_FRAME_RESET:
                resets++;
                break;
            default:
                firmware_reply f = firmware(head.type, head.argument, head.count, data);
                a.header.status = f.status;
                a.header.argument = f.argument;
                a.header.count = f.count;
                a.payload = f.payload;
            }
        }
        tell(a);
    }

    void list(const bytes &data, answer *a)
    {
        bool write = head.type == MW_FRAME_REG_WRITE;
        unsigned done = 0;
        for (; done < head.words; done++) {
            mw_frame_register r;
            memcpy(&r, &data[8 * done], sizeof r);
            if (r.address >= BAD_REGISTER)
                break;
            if (write)
                registers[r.address] = r.value;
            r.value = registers[r.address];
            const auto *p = reinterpret_cast<uint8_t *>(&r);
            if (!write)
                a->payload.insert(a->payload.end(), p, p + sizeof r);
        }
        if (done < head.words) {
            a->header.status = MW_STATUS_ACCESS;
            a->payload.clear();
        }
        if (write || done < head.words)
            a->header.count = done;
    }
};

#endif
