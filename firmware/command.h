// SPDX-License-Identifier: Apache-2.0
//
// Commands from the host, one at a time through the mailbox: those frames of
// docs/reference/host-protocol.md that the link's hardware does not answer itself.
#ifndef MW_FW_COMMAND_H
#define MW_FW_COMMAND_H

#include "feed.h"

/// Take a command, if there is one, and reply; one that waits for a layer stays where it is.
/// `found`: the fabric is as board_find requires.
void command_poll(struct feed *f, const struct board *b, bool found);

#endif
