// SPDX-License-Identifier: Apache-2.0
#include "console.h"

#include "log.h"

static void put(char c)
{
    if (GET(MW_SOC__UART__ROOM, hw_read(SOC(uart))))
        hw_write(SOC(uart_tx), (uint8_t)c);
}

void console_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '\n')
            put('\r');
        put(*text);
    }
}

void console_hex(uint32_t value)
{
    for (int shift = 28; shift >= 0; shift -= 4)
        put("0123456789abcdef"[value >> shift & 15]);
}

void console_number(uint32_t value)
{
    char digits[11];
    unsigned at = sizeof digits - 1;
    digits[at] = 0;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    console_text(&digits[at]);
}

static void show(const char *name, uint32_t value)
{
    console_text(name);
    console_number(value);
}

static void version(const struct board *b)
{
    show("moeswitch firmware ", FW_MAJOR);
    show(".", FW_MINOR);
    show(".", FW_PATCH);
    show(", GPUs ", b->gpus);
    show(", flit bytes ", b->flit_bytes);
    show(", memory 2^", b->mem_log2);
    console_text("\n");
}

static void entries(void)
{
    struct mw_frame_log e;
    for (uint32_t n = log_first(); log_get(n, &e); n++) {
        show("", e.number);
        show(": code ", e.code);
        console_text(" detail ");
        console_hex(e.detail);
        show(" at ", e.seconds);
        console_text(" s\n");
    }
}

static void state(void)
{
    console_text("state ");
    console_hex(hw_read(FABRIC(state)));
    console_text(" idle ");
    console_hex(hw_read(FABRIC(node_idle)));
    console_text(" errors ");
    console_hex(hw_read(FABRIC(node_error)));
    show(" cycles ", hw_read(FABRIC(cycles)));
    console_text("\n");
}

void console_poll(const struct board *b)
{
    uint32_t in = hw_read(SOC(uart_rx));
    if (!(in & MW_SOC__UART_RX__VALID_bm))
        return;
    switch ((char)GET(MW_SOC__UART_RX__DATA, in)) {
    case 'v':
        version(b);
        break;
    case 'l':
        entries();
        break;
    case 's':
        state();
        break;
    case '\r':
    case '\n':
        break;
    default:
        console_text("v version, l log, s state\n");
    }
}
