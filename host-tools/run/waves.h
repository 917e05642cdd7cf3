// SPDX-License-Identifier: Apache-2.0
//
// Files of waveforms while they are written. If Verilator's writer cannot write, it ends the
// program by abort(). These functions then print a line, set an exit status, and leave no partial
// file.
#ifndef MW_HOST_WAVES_H
#define MW_HOST_WAVES_H

/// Between these an abort() ends the program with MW_EXIT_FAILED.
void mw_waves_begin(void);
void mw_waves_end(void);
/// A device of this process writes `path` from now on, as number `slot` (below MW_SYSTEMS) of those
/// that do; it must stay. NULL: it is written.
void mw_waves_written(unsigned slot, const char *path);

#endif
