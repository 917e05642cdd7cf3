// SPDX-License-Identifier: Apache-2.0
//
// See usb_host.h. Section numbers are those of the USB specification 2.0.
#include "usb_host.h"

#include <string.h>

enum {
    RESET_CLOCKS = 10 * USB_CLOCKS_PER_MS,  // 7.1.7.5: TDRST
    CHIRP_CLOCKS = 50 * USB_CLOCKS_PER_US,  // TDCHBIT, 40 to 60 us
    CHIRP_QUIET = 200 * USB_CLOCKS_PER_US,  // before the end of the reset, 100 to 500 us
    DETECT_CLOCKS = 7 * USB_CLOCKS_PER_MS,  // a device's chirp ends by then
    RESUME_CLOCKS = 20 * USB_CLOCKS_PER_MS, // 7.1.7.7: TDRSMDN
    HIGH_TIMEOUT = 102,                     // 816 bits (7.1.19.2)
    FULL_TIMEOUT = 90,                      // 18 bits
};

static void tick(struct usb_host *h)
{
    struct ulpi_bus bus = h->phy.bus;
    struct ulpi_link link = h->clock(h->device, &bus);
    ulpi_phy_step(&h->phy, &link);
}

static void wait_until(struct usb_host *h, uint64_t time)
{
    while (h->phy.now < time)
        tick(h);
}

static bool high(const struct usb_host *h)
{
    return ulpi_phy_high_speed(&h->phy);
}

void usb_host_init(struct usb_host *h, struct ulpi_link (*clock)(void *, const struct ulpi_bus *),
                   void *device)
{
    *h = (struct usb_host){
        .clock = clock,
        .device = device,
        .high_speed_port = true,
        .gap_out_out = 11,
        .gap_in_out = 1,
        .resume = RESUME_CLOCKS,
        .fast = ~0u,
    };
    ulpi_phy_init(&h->phy);
}

// ---- packets ------------------------------------------------------------------------------------

static void send(struct usb_host *h, const uint8_t *packet, size_t size)
{
    wait_until(h, h->free_at);
    while (h->phy.rx.active) // the link still receives the previous packet
        tick(h);
    h->phy.tx.complete = false;
    ulpi_phy_send(&h->phy, packet, size);
    h->free_at = h->phy.rx.end + h->gap_out_out;
    wait_until(h, h->phy.rx.end);
}

static void token(struct usb_host *h, unsigned pid, unsigned bits, unsigned damage)
{
    unsigned crc = usb_crc5(bits) ^ (damage & USB_BAD_CRC5 ? 1 : 0);
    unsigned word = bits | crc << 11;
    uint8_t packet[3] = {usb_pid_byte(pid), (uint8_t)word, (uint8_t)(word >> 8)};
    if (damage & USB_BAD_PID)
        packet[0] ^= 0x80;
    send(h, packet, sizeof packet);
}

static void frame(struct usb_host *h)
{
    token(h, USB_PID_SOF, h->frame & 0x7ff, 0);
    h->next_frame += high(h) ? USB_MICROFRAME : USB_FRAME;
    h->microframe = high(h) ? (h->microframe + 1) % 8 : 0;
    h->frame += h->microframe == 0;
}

/// Before a transaction with `bytes` of data: no packet may be on the wire when a frame begins.
static void begin(struct usb_host *h, size_t bytes)
{
    // data with the worst stuffing, token, handshake, gaps and the answer's delay
    uint64_t need = (bytes + bytes / 6 + 80) * ulpi_phy_byte_clocks(&h->phy);
    while (h->frames && h->phy.now + need >= h->next_frame) {
        wait_until(h, h->next_frame);
        frame(h);
    }
}

/// The device's answer to the packet just sent: its PID, or USB_SILENT.
static int answer(struct usb_host *h)
{
    struct usb_tx *tx = &h->phy.tx;
    uint64_t sent = h->phy.rx.end, limit = high(h) ? HIGH_TIMEOUT : FULL_TIMEOUT;
    while (h->phy.now < sent + limit && h->phy.state != ULPI_TRANSMIT && !tx->complete)
        tick(h);
    if (h->phy.state != ULPI_TRANSMIT && !tx->complete)
        return USB_SILENT;
    while (!tx->complete && !tx->lost)
        tick(h);
    if (tx->lost) { // the device may detect its end only after a packet's time
        tx->lost = false;
        wait_until(h, h->phy.now + USB_MAX_PACKET);
        return USB_SILENT;
    }
    tx->complete = false;
    wait_until(h, tx->end);
    h->free_at = tx->end + h->gap_in_out * ulpi_phy_byte_clocks(&h->phy);
    unsigned delay = (unsigned)(tx->begin - sent);
    h->fast = delay < h->fast ? delay : h->fast;
    h->slow = delay > h->slow ? delay : h->slow;
    if (usb_packet_good(tx->bytes, tx->size))
        return usb_pid_of(tx->bytes[0]);
    h->broken++;
    return USB_BROKEN;
}

// ---- transactions -------------------------------------------------------------------------------

int usb_host_out(struct usb_host *h, unsigned pid, unsigned endpoint, unsigned toggle,
                 const uint8_t *data, size_t size, unsigned damage)
{
    uint8_t packet[USB_MAX_PACKET];
    begin(h, size);
    token(h, pid, h->address | endpoint << 7, damage);
    if (damage & USB_LOSE_DATA)
        return USB_SILENT;
    packet[0] = usb_pid_byte(toggle ? USB_PID_DATA1 : USB_PID_DATA0);
    if (size)
        memcpy(packet + 1, data, size);
    uint16_t crc = usb_crc16(packet + 1, size);
    if (damage & USB_BAD_CRC16)
        crc ^= 0x8001;
    packet[size + 1] = (uint8_t)crc;
    packet[size + 2] = (uint8_t)(crc >> 8);
    send(h, packet, damage & USB_CUT_DATA ? 1 + size / 2 : size + 3);
    return answer(h);
}

int usb_host_in(struct usb_host *h, unsigned endpoint, uint8_t *data, size_t *size, unsigned damage)
{
    begin(h, high(h) ? 512 : 64);
    token(h, USB_PID_IN, h->address | endpoint << 7, damage);
    int result = answer(h);
    if (result != USB_PID_DATA0 && result != USB_PID_DATA1)
        return result;
    *size = h->phy.tx.size - 3;
    memcpy(data, h->phy.tx.bytes + 1, *size);
    if (!(damage & USB_LOSE_ACK)) {
        const uint8_t ack = usb_pid_byte(USB_PID_ACK);
        send(h, &ack, 1);
    }
    return result;
}

int usb_host_ping(struct usb_host *h, unsigned endpoint)
{
    begin(h, 0);
    token(h, USB_PID_PING, h->address | endpoint << 7, 0);
    return answer(h);
}

// ---- the port -----------------------------------------------------------------------------------

void usb_host_wait(struct usb_host *h, uint64_t clocks)
{
    uint64_t end = h->phy.now + clocks;
    while (h->frames && h->next_frame < end) {
        wait_until(h, h->next_frame);
        frame(h);
    }
    wait_until(h, end);
}

static void start_frames(struct usb_host *h)
{
    h->frames = true;
    h->next_frame = h->phy.now + USB_MICROFRAME;
}

/// If the device chirps, chirp J and K alternate until shortly before the end of the reset
/// (7.1.7.5).
static void chirp(struct usb_host *h, uint64_t reset_end)
{
    struct ulpi_phy *p = &h->phy;
    uint64_t limit = p->now + DETECT_CLOCKS;
    while (p->now < limit && !p->chirp_end)
        tick(h);
    if (!p->chirp_end)
        return;
    for (bool k = true; p->now + CHIRP_QUIET < reset_end; k = !k) {
        p->line = k ? USB_K : USB_J;
        wait_until(h, p->now + CHIRP_CLOCKS);
    }
    p->line = USB_SE0;
}

bool usb_host_reset(struct usb_host *h)
{
    struct ulpi_phy *p = &h->phy;
    uint64_t end = p->now + RESET_CLOCKS;
    h->frames = false;
    h->address = 0;
    p->chirp_begin = p->chirp_end = 0;
    p->line = USB_SE0;
    if (h->high_speed_port)
        chirp(h, end);
    wait_until(h, end);
    p->line = USB_RELEASED;
    usb_host_wait(h, USB_CLOCKS_PER_US * 10);
    start_frames(h);
    return ulpi_phy_attached(p);
}

void usb_host_suspend(struct usb_host *h)
{
    h->frames = false;
    usb_host_wait(h, 4 * USB_CLOCKS_PER_MS); // 7.1.7.6: 3 ms of idle
}

void usb_host_resume(struct usb_host *h)
{
    h->phy.line = USB_K;
    usb_host_wait(h, h->resume);
    h->phy.line = USB_SE0; // low-speed end of packet (7.1.7.7)
    usb_host_wait(h, USB_CLOCKS_PER_US * 4 / 3);
    h->phy.line = USB_RELEASED;
    usb_host_wait(h, USB_CLOCKS_PER_US * 10);
    start_frames(h);
}
