// SPDX-License-Identifier: Apache-2.0
//
// Error reports: each report must be expected, by name and place, and each expected report must
// come.
#ifndef BENCH_ERRORS_H
#define BENCH_ERRORS_H

#include "bench/dut.h"

#include <errors.h> // the generated one

namespace tb {
inline const char *error_name(unsigned code)
{
#define BENCH_ERROR_NAME(name, value, text) \
    if (code == value) \
        return #name;
    MW_HWERR_LIST(BENCH_ERROR_NAME)
#undef BENCH_ERROR_NAME
    return "an unknown code";
}

/// A place is any list of numbers: port, opcode, token ...
class error_watch {
  public:
    explicit error_watch(const char *its_name) : name(its_name) {}

    /// It comes once, at any time, or in cycles from .. until.
    template <class... Place> void expect(unsigned code, Place... place)
    {
        wanted.push_back({code, {static_cast<uint64_t>(place)...}, 0, UINT64_MAX});
    }
    template <class... Place>
    void expect_between(uint64_t from, uint64_t until, unsigned code, Place... place)
    {
        wanted.push_back({code, {static_cast<uint64_t>(place)...}, from, until});
    }

    /// Once per cycle, before the edge.
    template <class... Place> void see(uint64_t now, bool valid, unsigned code, Place... place)
    {
        if (!valid)
            return;
        const report r = {code, {static_cast<uint64_t>(place)...}, now, now};
        for (auto w = wanted.begin(); w != wanted.end(); ++w) {
            if (w->code == code && w->place == r.place && w->from <= now && now <= w->until) {
                wanted.erase(w);
                seen.push_back(r);
                return;
            }
        }
        tell("expected");
        fail_msg("%s: %s was not expected in cycle %llu", name, text(r).c_str(),
                 static_cast<unsigned long long>(now));
    }

    /// Checks that all expected ones have come.
    void done() const
    {
        if (wanted.empty())
            return;
        tell("did not come");
        fail_msg("%s: %zu errors did not come, the first: %s", name, wanted.size(),
                 text(wanted[0]).c_str());
    }
    size_t missing() const { return wanted.size(); }
    size_t count(unsigned code) const
    {
        size_t n = 0;
        for (const report &r : seen)
            n += r.code == code;
        return n;
    }

    struct report {
        unsigned code;
        std::vector<uint64_t> place;
        uint64_t from, until;
    };
    std::vector<report> seen; ///< from: its cycle

  private:
    static std::string text(const report &r)
    {
        std::string s = error_name(r.code);
        for (uint64_t p : r.place)
            s += " " + std::to_string(p);
        return s;
    }
    void tell(const char *what) const
    {
        for (size_t i = 0; i < wanted.size() && i < 20; i++)
            print_error("%s: %s: %s\n", name, what, text(wanted[i]).c_str());
    }

    const char *name;
    std::vector<report> wanted;
};
} // namespace tb

#endif
