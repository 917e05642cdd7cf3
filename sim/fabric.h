// SPDX-License-Identifier: Apache-2.0
//
// One Verilated fabric as used by the C interface (shim.cpp). fabric_plain.cpp has the whole
// fabric, lanes/fabric_lanes.cpp has it in parts. A model is linked with one of them.
//
// In each cycle inputs are set, the model settles with the clock low, outputs are read, and the
// clock rises.
#pragma once

#include "mw_sim.h"

#include <cstdint>
#include <memory>

class fabric {
  public:
    virtual ~fabric() = default;

    /// Writes waveforms to this file; NULL: none. Returns false if waveforms were requested and are
    /// not possible.
    virtual bool open(const char *path) = 0;
    virtual void reset(bool on) = 0;
    virtual void settle() = 0;
    virtual void rise() = 0;
    /// settle() and rise() in one, if no output is read in between
    virtual void cycle() = 0;
    /// Many calls of cycle() follow, one after another.
    virtual void many() = 0;
    /// They have ended. The ports belong to the caller until the next cycle().
    virtual void meet() = 0;
    virtual bool done() const = 0;

    /// The configuration bus: a request is held until release().
    virtual void request(bool write, uint32_t address, uint32_t data) = 0;
    virtual void release() = 0;
    struct bus_answer {
        bool ack, err;
        uint32_t data;
    };
    virtual bus_answer answer() const = 0;

    /// The host stream port of GPU g. A request is taken in a cycle in which it is valid and ready.
    virtual bool host_ready(unsigned g) const = 0;
    virtual bool host_valid(unsigned g) = 0;
    virtual void host_valid(unsigned g, bool valid) = 0;
    virtual void host_request(unsigned g, bool write, uint32_t flit) = 0;
    virtual void host_write(unsigned g, const uint8_t *flit) = 0;
    virtual bool host_rvalid(unsigned g) = 0;
    virtual void host_read(unsigned g, uint8_t *flit) = 0;

    /// The same as watch of mw_sim_ops
    virtual void watch(mw_sim_event_fn event, void *context) = 0;
    /// After a clock edge, if there is a watcher
    virtual void look() = 0;
};

/// What a model is linked with
struct fabric_kind {
    bool traces;  ///< waveforms can be written
    bool watches; ///< reports the activity of its GPUs
    std::unique_ptr<fabric> (*make)();
};
extern const fabric_kind FABRIC;
