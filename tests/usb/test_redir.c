// SPDX-License-Identifier: Apache-2.0
//
// mw-usb-device with a host that speaks usbredir at its socket. Any number of transfers may wait.
// Each ends once, none is lost, and all end in order. An invalid command line is refused with one
// line.
#include "transport_usb/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <usbredirparser.h>

#include <cmocka.h>

#include "base/random.h"

#define PROGRAM "build/mw-usb-device"

enum {
    TRANSFERS = 1000, ///< that wait at once, far more than any queue is made for
    IN_BYTES = 512,
    WORDS = 8, ///< of a payload
    FRAME = MW_HOST_HEADER_BYTES + 8 * WORDS + MW_HOST_TRAILER_BYTES,
    QUIET_MS = 60000, ///< without any progress
    UNKNOWN = 255,
};

static struct mw_random rng = {1};

struct client {
    char folder[32], path[64];
    pid_t device;
    int socket;
    struct usbredirparser *parser;
    bool connected;
    uint64_t next_id;
    unsigned ended; ///< transfers
    struct transfer {
        uint8_t status;
        unsigned order; ///< in which they ended
        size_t bytes;
        uint8_t data[IN_BYTES];
    } transfer[8 * TRANSFERS]; ///< by id
    uint32_t key;
    uint16_t sequence;
};

// ---- the connection -----------------------------------------------------------------------------

static int read_some(void *context, uint8_t *data, int count)
{
    struct client *c = context;
    ssize_t n = read(c->socket, data, (size_t)count);
    return n < 0 ? (errno == EAGAIN ? 0 : -1) : n ? (int)n : -1;
}

static int write_some(void *context, uint8_t *data, int count)
{
    struct client *c = context;
    ssize_t n = write(c->socket, data, (size_t)count);
    return n < 0 ? (errno == EAGAIN ? 0 : -1) : (int)n;
}

static void log_line(void *context, int level, const char *line)
{
    (void)context;
    if (level <= usbredirparser_warning)
        print_message("%s\n", line);
}

static void connected(void *context, struct usb_redir_device_connect_header *h)
{
    assert_int_equal(h->vendor_id, MW_HOST_USB_VENDOR);
    ((struct client *)context)->connected = true;
}

static void ended(void *context, uint64_t id, struct usb_redir_bulk_packet_header *h, uint8_t *data,
                  int bytes)
{
    struct client *c = context;
    assert_true(id < c->next_id);
    struct transfer *t = &c->transfer[id];
    assert_int_equal(t->status, UNKNOWN);
    t->status = h->status;
    t->order = c->ended++;
    t->bytes = (size_t)bytes;
    assert_true(bytes <= IN_BYTES);
    if (bytes)
        memcpy(t->data, data, (size_t)bytes);
    free(data);
}

static void ignore_hello(void *context, struct usb_redir_hello_header *h)
{
    (void)context, (void)h;
}
static void ignore_endpoints(void *context, struct usb_redir_ep_info_header *h)
{
    (void)context, (void)h;
}
static void ignore_interfaces(void *context, struct usb_redir_interface_info_header *h)
{
    (void)context, (void)h;
}

/// Runs until this many transfers have ended.
static void pump(struct client *c, unsigned count)
{
    while (c->ended < count || !c->connected) {
        bool writing = usbredirparser_has_data_to_write(c->parser);
        struct pollfd p = {c->socket, (short)(POLLIN | (writing ? POLLOUT : 0)), 0};
        if (poll(&p, 1, QUIET_MS) != 1)
            fail_msg("%u of %u transfers have ended, and nothing moves", c->ended, count);
        if (p.revents & (POLLIN | POLLHUP))
            assert_int_equal(usbredirparser_do_read(c->parser), 0);
        if (p.revents & POLLOUT)
            assert_int_equal(usbredirparser_do_write(c->parser), 0);
    }
}

enum {
    CLOSED = -2,       ///< neither standard output nor standard error
    MEMORY = 96 << 20, ///< of the device, in bytes: two of 16 MB are its GPUs'
};

static pid_t start(const char *const *words, int errors)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid)
        return pid;
    if (errors >= 0)
        dup2(errors, STDERR_FILENO);
    else if (errors == CLOSED) {
        close(STDOUT_FILENO);
        close(STDERR_FILENO);
    }
    setrlimit(RLIMIT_AS, &(struct rlimit){MEMORY, MEMORY});
    execv(PROGRAM, (char *const *)words);
    _exit(127);
}

static int connect_to(const char *path, pid_t device)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path) + 1);
    for (;;) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), status;
        assert_true(fd >= 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
            return fd;
        close(fd);
        assert_int_equal(waitpid(device, &status, WNOHANG), 0);
        usleep(10000);
    }
}

static struct client *client_open_with(int errors)
{
    struct client *c = calloc(1, sizeof *c);
    assert_non_null(c);
    strcpy(c->folder, "/tmp/test_redir_XXXXXX");
    assert_non_null(mkdtemp(c->folder));
    snprintf(c->path, sizeof c->path, "%s/socket", c->folder);
    const char *words[] = {PROGRAM, "--stub", "--socket", c->path, NULL};
    c->device = start(words, errors);
    c->socket = connect_to(c->path, c->device);
    assert_int_equal(fcntl(c->socket, F_SETFL, O_NONBLOCK), 0);
    struct usbredirparser *p = c->parser = usbredirparser_create();
    assert_non_null(p);
    p->priv = c;
    p->log_func = log_line;
    p->read_func = read_some;
    p->write_func = write_some;
    p->hello_func = ignore_hello;
    p->device_connect_func = connected;
    p->interface_info_func = ignore_interfaces;
    p->ep_info_func = ignore_endpoints;
    p->bulk_packet_func = ended;
    uint32_t caps[USB_REDIR_CAPS_SIZE] = {0};
    static const int own[] = {usb_redir_cap_connect_device_version, usb_redir_cap_64bits_ids,
                              usb_redir_cap_ep_info_max_packet_size,
                              usb_redir_cap_32bits_bulk_length};
    for (unsigned i = 0; i < sizeof own / sizeof *own; i++)
        usbredirparser_caps_set_cap(caps, own[i]);
    usbredirparser_init(p, "test_redir", caps, USB_REDIR_CAPS_SIZE, 0);
    pump(c, 0);
    return c;
}

static struct client *client_open(void)
{
    return client_open_with(-1);
}

static void client_close(struct client *c)
{
    int status;
    usbredirparser_destroy(c->parser);
    close(c->socket);
    assert_int_equal(waitpid(c->device, &status, 0), c->device);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(rmdir(c->folder), 0); // its socket is gone, too
    free(c);
}

// ---- transfers and frames -----------------------------------------------------------------------

static uint64_t bulk(struct client *c, uint8_t endpoint, uint8_t *data, size_t bytes)
{
    struct usb_redir_bulk_packet_header h = {.endpoint = endpoint, .length = (uint16_t)bytes};
    assert_true(c->next_id < sizeof c->transfer / sizeof *c->transfer);
    c->transfer[c->next_id].status = UNKNOWN;
    usbredirparser_send_bulk_packet(c->parser, c->next_id, &h, data, data ? (int)bytes : 0);
    return c->next_id++;
}

static uint64_t ask_in(struct client *c)
{
    return bulk(c, MW_HOST_USB_IN, NULL, IN_BYTES);
}

static uint64_t request(struct client *c, struct mw_frame_header h, const uint64_t *payload)
{
    uint8_t frame[FRAME];
    h.words = payload ? WORDS : 0;
    h.sequence = c->sequence++;
    mwf_seal_request(&h, c->key);
    memcpy(frame, &h, sizeof h);
    if (payload) {
        struct mw_frame_trailer t = mwf_trailer_behind(
            mwf_crc(mwf_payload_start(&h, c->key), payload, 8 * WORDS), MW_STATUS_OK);
        memcpy(frame + sizeof h, payload, 8 * WORDS);
        memcpy(frame + sizeof h + 8 * WORDS, &t, sizeof t);
    }
    return bulk(c, MW_HOST_USB_OUT, frame, mwf_bytes(8 * (size_t)h.words));
}

static struct mw_frame_header reply(const struct client *c, uint64_t id, uint16_t sequence)
{
    struct mw_frame_header h;
    const struct transfer *t = &c->transfer[id];
    assert_int_equal(t->status, usb_redir_success);
    assert_true(t->bytes >= sizeof h);
    memcpy(&h, t->data, sizeof h);
    assert_true(mwf_header_ok(&h));
    assert_int_equal(h.status, MW_STATUS_OK);
    assert_int_equal(h.sequence, sequence);
    return h;
}

static void begin_session(struct client *c)
{
    const unsigned before = c->ended;
    request(
        c,
        (struct mw_frame_header){.type = MW_FRAME_SYNC,
                                 .argument = 7,
                                 .count = MW_HOST_PROTOCOL_MAJOR << 16 | MW_HOST_PROTOCOL_MINOR},
        NULL);
    uint64_t in = ask_in(c);
    pump(c, before + 2);
    struct mw_frame_header h = reply(c, in, 0);
    c->key = mwf_key(&h);
}

static void make_words(uint64_t words[WORDS])
{
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = mw_random_next(&rng);
}

// ---- tests --------------------------------------------------------------------------------------

/// The host sends far more OUT transfers than the device has room for, and reads no reply. They
/// wait, as after NAK, and all are executed in order.
static void test_many_out(void **state)
{
    (void)state;
    static uint64_t sent[TRANSFERS][WORDS];
    struct client *c = client_open();
    begin_session(c);
    const unsigned before = c->ended;
    const uint64_t out = c->next_id;
    for (unsigned i = 0; i < TRANSFERS; i++) {
        make_words(sent[i]);
        request(c, (struct mw_frame_header){.type = MW_FRAME_MEM_WRITE, .argument = i * 8 * WORDS},
                sent[i]);
    }
    const uint64_t in = c->next_id;
    for (unsigned i = 0; i < TRANSFERS; i++)
        ask_in(c);
    pump(c, before + 2 * TRANSFERS);
    for (unsigned i = 0; i < TRANSFERS; i++) {
        assert_int_equal(c->transfer[out + i].status, usb_redir_success);
        assert_true(i == 0 || c->transfer[out + i].order > c->transfer[out + i - 1].order);
        reply(c, in + i, (uint16_t)(1 + i));
    }
    // memory has all data
    for (unsigned i = 0; i < TRANSFERS; i++) {
        request(c,
                (struct mw_frame_header){
                    .type = MW_FRAME_MEM_READ, .argument = i * 8 * WORDS, .count = 8 * WORDS},
                NULL);
        uint64_t id = ask_in(c);
        pump(c, c->ended + 2);
        reply(c, id, (uint16_t)(1 + TRANSFERS + i));
        assert_memory_equal(c->transfer[id].data + MW_HOST_HEADER_BYTES, sent[i], 8 * WORDS);
    }
    client_close(c);
}

/// Many IN transfers wait, and half of them are canceled in any order. Each ends once, and the
/// others get the replies in order.
static void test_canceled(void **state)
{
    (void)state;
    struct client *c = client_open();
    begin_session(c);
    const unsigned before = c->ended;
    const uint64_t in = c->next_id;
    bool gone[TRANSFERS] = {false};
    for (unsigned i = 0; i < TRANSFERS; i++)
        ask_in(c);
    for (unsigned n = 0; n < TRANSFERS / 2;) {
        unsigned i = (unsigned)mw_random_below(&rng, TRANSFERS);
        if (gone[i])
            continue;
        gone[i] = true;
        n++;
        usbredirparser_send_cancel_data_packet(c->parser, in + i);
    }
    pump(c, before + TRANSFERS / 2);
    for (unsigned i = 0; i < TRANSFERS; i++)
        assert_int_equal(c->transfer[in + i].status, gone[i] ? usb_redir_cancelled : UNKNOWN);
    uint64_t words[WORDS];
    make_words(words);
    for (unsigned i = 0; i < TRANSFERS / 2; i++)
        request(c, (struct mw_frame_header){.type = MW_FRAME_MEM_WRITE}, words);
    pump(c, before + TRANSFERS / 2 + TRANSFERS);
    unsigned next = 1;
    for (unsigned i = 0; i < TRANSFERS; i++)
        if (!gone[i])
            reply(c, in + i, (uint16_t)next++);
    client_close(c);
}

/// A transfer without memory ends, and the device continues.
static void test_no_memory(void **state)
{
    (void)state;
    struct client *c = client_open();
    struct usb_redir_bulk_packet_header h = {.endpoint = MW_HOST_USB_IN, .length_high = 0x0800};
    c->transfer[c->next_id].status = UNKNOWN;
    usbredirparser_send_bulk_packet(c->parser, c->next_id++, &h, NULL, 0);
    pump(c, 1);
    assert_int_equal(c->transfer[0].status, usb_redir_ioerror);
    begin_session(c);
    client_close(c);
}

/// Messages about a connection that breaks its rules go to standard error, not to the connection.
static void test_closed_error(void **state)
{
    (void)state;
    struct client *c = client_open_with(CLOSED);
    static const uint8_t wrong[16] = {0xff, 0xff, 0xff, 0x7f};
    uint8_t heard[256];
    size_t count = 0;
    while (usbredirparser_has_data_to_write(c->parser))
        assert_int_equal(usbredirparser_do_write(c->parser), 0);
    assert_int_equal(write(c->socket, wrong, sizeof wrong), sizeof wrong);
    struct pollfd p = {c->socket, POLLIN, 0};
    while (poll(&p, 1, QUIET_MS) == 1 && count < sizeof heard) {
        ssize_t n = read(c->socket, heard + count, sizeof heard - count);
        if (n <= 0)
            break;
        count += (size_t)n;
    }
    assert_null(memmem(heard, count, "mw-usb-device", 13));
    client_close(c);
}

/// Each transfer to an endpoint that does not exist gets STALL at once.
static void test_no_endpoint(void **state)
{
    (void)state;
    struct client *c = client_open();
    uint8_t byte = 0;
    uint64_t id = bulk(c, MW_HOST_USB_OUT + 1, &byte, 1);
    pump(c, 1);
    assert_int_equal(c->transfer[id].status, usb_redir_stall);
    client_close(c);
}

static void test_command_line(void **state)
{
    (void)state;
    static const char *const lines[][8] = {
        {PROGRAM, "--stub"},
        {PROGRAM, "--socket", "", "--stub"},
        {PROGRAM, "--socket", "/tmp/none"},
        {PROGRAM, "--socket", "/tmp/none", "--stub", "--model", "none"},
        {PROGRAM, "--socket", "/tmp/none", "--stub", "more"},
        {PROGRAM, "--socket", "/tmp/none", "--stub", "--drop-after", "-1"},
        {PROGRAM, "--socket", "/tmp/none", "--stub", "--drop-after", "9x"},
        {PROGRAM, "--socket", "/tmp/none", "--stub", "--serial",
         "0123456789012345678901234567890123"},
        {PROGRAM, "--socket", "/tmp/none", "--sub"},
    };
    for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[400] = "";
        int ends[2], status;
        assert_int_equal(pipe(ends), 0);
        pid_t pid = start(lines[i], ends[1]);
        close(ends[1]);
        size_t have = 0;
        for (ssize_t n; (n = read(ends[0], text + have, sizeof text - 1 - have)) > 0;)
            have += (size_t)n;
        close(ends[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 2);
        if (!have || strchr(text, '\n') != text + have - 1)
            fail_msg("line %u: \"%s\"", i, text);
    }
}

int main(void)
{
    const char *text = getenv("MW_SEED");
    rng.state = text ? strtoull(text, NULL, 0) : 1;
    print_message("seed %llu\n", (unsigned long long)rng.state);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_out),     cmocka_unit_test(test_canceled),
        cmocka_unit_test(test_no_endpoint),  cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_closed_error), cmocka_unit_test(test_command_line),
    };
    return cmocka_run_group_tests_name("mw-usb-device", tests, NULL, NULL);
}
