// SPDX-License-Identifier: Apache-2.0
//
// Packets of USB 2.0 as bytes, PID first (USB 2.0 chapter 8), and their length on the wire.
#ifndef MW_SIM_USB_PACKET_H
#define MW_SIM_USB_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Packet identifiers (table 8-1); a PID byte has the complement in its upper half.
enum usb_pid {
    USB_PID_OUT = 0x1,
    USB_PID_ACK = 0x2,
    USB_PID_DATA0 = 0x3,
    USB_PID_PING = 0x4,
    USB_PID_SOF = 0x5,
    USB_PID_NYET = 0x6,
    USB_PID_IN = 0x9,
    USB_PID_NAK = 0xa,
    USB_PID_DATA1 = 0xb,
    USB_PID_SETUP = 0xd,
    USB_PID_STALL = 0xe,
};

enum {
    USB_MAX_DATA = 1024,
    USB_MAX_PACKET = USB_MAX_DATA + 3, ///< PID and CRC16
};

uint8_t usb_pid_byte(unsigned pid);
/// PID of a PID byte, or -1 if the halves do not match.
int usb_pid_of(uint8_t byte);
/// Of the 11 bits of a token, and of bytes; as sent.
unsigned usb_crc5(unsigned bits);
uint16_t usb_crc16(const uint8_t *data, size_t size);
/// True if CRCs are right, and the length fits the PID.
bool usb_packet_good(const uint8_t *packet, size_t size);

/// Bit stuffing: a 0 after six consecutive ones (7.1.9), counted byte by byte. Starts with the
/// SYNC's last 1.
struct usb_stuffing {
    unsigned ones, bits;
};
void usb_stuffing_start(struct usb_stuffing *s);
void usb_stuffing_byte(struct usb_stuffing *s, uint8_t byte);

#endif
