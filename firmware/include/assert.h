// SPDX-License-Identifier: Apache-2.0
//
// There is no C library. The generated headers need static_assert of this one.
#ifndef static_assert
#define static_assert _Static_assert
#endif
