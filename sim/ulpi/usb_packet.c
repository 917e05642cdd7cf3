// SPDX-License-Identifier: Apache-2.0
//
// See usb_packet.h.
#include "usb_packet.h"

uint8_t usb_pid_byte(unsigned pid)
{
    return (uint8_t)(pid | (~pid & 0xf) << 4);
}

int usb_pid_of(uint8_t byte)
{
    return (byte & 0xf) == (~byte >> 4 & 0xf) ? byte & 0xf : -1;
}

/// One step of a reflected CRC: both of USB's are sent with their highest coefficient first.
static unsigned crc_bit(unsigned crc, unsigned bit, unsigned polynomial)
{
    return (crc ^ bit) & 1 ? crc >> 1 ^ polynomial : crc >> 1;
}

unsigned usb_crc5(unsigned bits)
{
    unsigned crc = 0x1f;
    for (unsigned i = 0; i < 11; i++)
        crc = crc_bit(crc, bits >> i, 0x14);
    return crc ^ 0x1f;
}

uint16_t usb_crc16(const uint8_t *data, size_t size)
{
    unsigned crc = 0xffff;
    for (size_t i = 0; i < size; i++)
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc_bit(crc, data[i] >> bit & 1u, 0xa001);
    return (uint16_t)~crc;
}

bool usb_packet_good(const uint8_t *packet, size_t size)
{
    int pid = size ? usb_pid_of(packet[0]) : -1;
    switch (pid) {
    case USB_PID_DATA0:
    case USB_PID_DATA1: {
        if (size < 3 || size > USB_MAX_PACKET)
            return false;
        uint16_t crc = usb_crc16(packet + 1, size - 3);
        return packet[size - 2] == (crc & 0xff) && packet[size - 1] == crc >> 8;
    }
    case USB_PID_ACK:
    case USB_PID_NAK:
    case USB_PID_STALL:
    case USB_PID_NYET:
        return size == 1;
    default: // a device sends no other
        return false;
    }
}

void usb_stuffing_start(struct usb_stuffing *s)
{
    *s = (struct usb_stuffing){.ones = 1};
}

void usb_stuffing_byte(struct usb_stuffing *s, uint8_t byte)
{
    for (unsigned i = 0; i < 8; i++) {
        s->ones = byte >> i & 1 ? s->ones + 1 : 0;
        if (s->ones == 6) {
            s->bits++;
            s->ones = 0;
        }
    }
}
