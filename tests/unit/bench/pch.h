// SPDX-License-Identifier: Apache-2.0
//
// Compiled once for all unit tests and their Verilated models (tests/unit/unit.mk). It has only
// headers that no test changes. A source still includes what it uses.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "verilated.h"
