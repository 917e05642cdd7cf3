// SPDX-License-Identifier: Apache-2.0
//
// Names and folders of models: for the library, which looks for one, and for the tool, which
// builds one that is missing.
#ifndef MW_MODEL_PLACE_H
#define MW_MODEL_PLACE_H

#include "moeswitch.h"

enum {
    MWI_PATH = 4096,      ///< longest path, its end included
    MWI_MODEL_NAME = 64,  ///< longest name, its end included
    MWI_MODEL_MAKE = 128, ///< longest command, its end included
    MWI_NEAR_LATENCY =
        64, ///< longest link of a model without FAR=1, cycles (rtl/common/cfg_pkg.sv)
};

/// Whether the options require links that only a model with FAR=1 has.
bool mwi_model_is_far(const struct mw_open_options *options);
/// Name of the configuration that the options require, which is that of its folder: n8f16-small.
void mwi_model_name(const struct mw_open_options *options, char name[MWI_MODEL_NAME]);
/// The command that builds it, in the sources' folder: make model N=8 F=16 SMALL=1.
void mwi_model_make(const struct mw_open_options *options, char command[MWI_MODEL_MAKE]);

/// `path` gets folder/name. False: it is too long.
bool mwi_path_join(char path[MWI_PATH], const char *folder, const char *name);
/// Look for a file in the folders of the program and of the library, and in those above each.
/// `found` gets its path.
bool mwi_path_upwards(const char *suffix, char found[MWI_PATH]);
/// Whether a folder holds moeswitch's sources.
bool mwi_model_is_source(const char *folder);
/// The sources around the program or the library. False: there are none.
bool mwi_model_source(char folder[MWI_PATH]);
/// The user's cache, whose models are in its folder model, and which need not be there;
/// false: the user has none.
bool mwi_model_cache(char folder[MWI_PATH]);

#endif
