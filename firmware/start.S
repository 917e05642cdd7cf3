# SPDX-License-Identifier: Apache-2.0
# First instruction after every start of the CPU. RAM holds what it held: .bss is cleared here, .noinit is not; there is no .data (link.ld).
    .section .text.reset
_reset:
    j _start
    .section .text.start
    .globl _start
_start:
    lui sp, %hi(__stack_top)    # no `la`, whose arithmetic report.py would take for a frame
    addi sp, sp, %lo(__stack_top)
    la t0, __bss_start
    la t1, __bss_end
1:  bgeu t0, t1, 2f
    sw zero, 0(t0)
    addi t0, t0, 4
    j 1b
2:  jal main
3:  j 3b
