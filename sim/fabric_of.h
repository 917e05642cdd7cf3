// SPDX-License-Identifier: Apache-2.0
//
// A fabric whose ports are bundles of a Verilated model. Device has
//   bus                               the model that has the configuration bus and `done`
//   host_ready, host_access, host_answer   of a GPU: a bit, and the two bundles of its port
//   open, reset, settle, rise, cycle, many, meet   as class fabric has them
#pragma once

#include "bundle_access.h"
#include "fabric.h"
#include "watcher.h"

template <typename Device> struct fabric_of final : fabric {
    Device device;
    watcher watching;

    static constexpr fabric_kind kind(bool traces)
    {
        return {traces, watcher::can, [] { return std::unique_ptr<fabric>(new fabric_of); }};
    }

    bool open(const char *path) override { return device.open(path); }
    void reset(bool on) override { device.reset(on); }
    void settle() override { device.settle(); }
    void rise() override { device.rise(); }
    void cycle() override { device.cycle(); }
    void many() override { device.many(); }
    void meet() override { device.meet(); }
    bool done() const override { return device.bus.done_o; }

    void request(bool write, uint32_t address, uint32_t data) override
    {
        using namespace bundle;
        put(device.bus.cfg_i, bus_req::req, 1);
        put(device.bus.cfg_i, bus_req::we, write);
        put(device.bus.cfg_i, bus_req::addr, address);
        put(device.bus.cfg_i, bus_req::wdata, data);
    }
    void release() override { bundle::put(device.bus.cfg_i, bundle::bus_req::req, 0); }
    bus_answer answer() const override
    {
        using namespace bundle;
        const auto &rsp = device.bus.cfg_o;
        return {take(rsp, bus_rsp::ack) != 0, take(rsp, bus_rsp::err) != 0,
                take(rsp, bus_rsp::rdata)};
    }

    bool host_ready(unsigned g) const override { return device.host_ready(g); }
    bool host_valid(unsigned g) override
    {
        auto &&access = device.host_access(g);
        return bundle::take(access, bundle::access::valid);
    }
    void host_valid(unsigned g, bool valid) override
    {
        auto &&access = device.host_access(g);
        bundle::put(access, bundle::access::valid, valid);
    }
    void host_request(unsigned g, bool write, uint32_t flit) override
    {
        auto &&access = device.host_access(g);
        bundle::put(access, bundle::access::we, write);
        bundle::put(access, bundle::access::addr, flit);
    }
    void host_write(unsigned g, const uint8_t *flit) override
    {
        auto &&access = device.host_access(g);
        bundle::put_flit(access, flit);
    }
    bool host_rvalid(unsigned g) override
    {
        return bundle::take(device.host_answer(g), bundle::answer::rvalid);
    }
    void host_read(unsigned g, uint8_t *flit) override
    {
        bundle::get_flit(device.host_answer(g), flit);
    }

    void watch(mw_sim_event_fn event, void *context) override { watching.tell(event, context); }
    void look() override { watching.look(device); }
};
