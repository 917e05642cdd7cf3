// SPDX-License-Identifier: Apache-2.0
//
// Sets fields of a packed struct port of type node_pkg::node_cfg_t by name. It reads the layout
// from rtl/common/node_pkg.sv itself, so a test contains no bit position. Run from the repository's
// root.
#ifndef NODE_CFG_H
#define NODE_CFG_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

class node_cfg {
  public:
    node_cfg()
    {
        std::ifstream in("rtl/common/node_pkg.sv");
        std::vector<std::pair<std::string, unsigned>> fields;
        for (std::string line; std::getline(in, line) && line.find("node_cfg_t;") == line.npos;) {
            if (line.find("struct packed") != line.npos)
                fields.clear();
            const char *p = strstr(line.c_str(), "logic");
            if (!p)
                continue;
            unsigned width = 1, top;
            int used = 0;
            for (p += 5; sscanf(p, " [%u:0]%n", &top, &used) == 1 && used; p += used, used = 0)
                width *= top + 1;
            char name[64];
            if (sscanf(p, " %63[a-z0-9_]", name) == 1)
                fields.push_back({name, width});
        }
        unsigned at = 0;
        for (auto f = fields.rbegin(); f != fields.rend(); ++f) {
            places[f->first] = {at, f->second};
            at += f->second;
        }
        words.assign((at + 31) / 32, 0);
        if (places.empty())
            missing("struct node_cfg_t in rtl/common/node_pkg.sv");
    }

    void set(const std::string &name, uint64_t value)
    {
        auto p = places.find(name);
        if (p == places.end())
            missing("field " + name);
        for (unsigned b = 0; b < p->second.second; b++) {
            unsigned at = p->second.first + b;
            uint32_t bit = b < 64 ? static_cast<uint32_t>(value >> b) & 1u : 0u;
            words[at / 32] = (words[at / 32] & ~(1u << at % 32)) | bit << at % 32;
        }
        values[name] = value;
    }

    /// Random values for all fields that were not set. The unit must not use them.
    template <class Dice> void any_rest(Dice &rng)
    {
        for (auto &p : places) {
            if (values.count(p.first))
                continue;
            for (unsigned at = p.second.first; at < p.second.first + p.second.second; at++)
                words[at / 32] = (words[at / 32] & ~(1u << at % 32)) |
                                 static_cast<uint32_t>(rng.bits(1)) << at % 32;
        }
    }

    uint64_t operator[](const std::string &name) const
    {
        auto v = values.find(name);
        return v == values.end() ? 0 : v->second;
    }

    template <class Port> void drive(Port &port) const
    {
        for (size_t w = 0; w < words.size(); w++)
            port[w] = words[w];
    }

  private:
    [[noreturn]] static void missing(const std::string &what)
    {
        fprintf(stderr, "node_cfg: no %s\n", what.c_str());
        exit(1);
    }

    std::map<std::string, std::pair<unsigned, unsigned>> places;
    std::map<std::string, uint64_t> values;
    std::vector<uint32_t> words;
};

#endif
