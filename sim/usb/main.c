// SPDX-License-Identifier: Apache-2.0
//
// mw-usb-device: a device of sim/usb as the "USB host" end of a usbredir connection. QEMU's -device
// usb-redir connects a virtual machine's bus to it. One thread reads the connection, moves what can
// be moved, and lets the device work. It sleeps only if there is nothing to do.
#include "device.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <usbredirparser.h>

enum {
    PENDING = 256,         ///< transfers for which a queue has room at first
    CONTROL_BYTES = 65536, ///< most of a control transfer
    ENDPOINTS = 32,
    IN = 0x80,
    STUB_GPUS = 2,
    STUB_FLIT = 8,
    STUB_MEM = 1 << 24,
    HIGH_SPEED = 512,
    FULL_SPEED = 64,
    SERIAL_MAX = 31,
    QUIET_MS = 20, ///< of the whole device, whose clock runs without transfers, too
};

struct pending {
    uint64_t id;
    struct usb_redir_bulk_packet_header header;
    uint8_t *data; ///< OUT: what is sent
    size_t bytes;
};

/// Transfers that wait for the device, which answers them NAK on a real bus. The host chooses their
/// number.
struct queue {
    struct pending *item;
    unsigned room, first, count;
};

struct server {
    int connection;
    bool closed;
    struct usbredirparser *parser;
    struct mwd_device *device;
    unsigned packet;
    struct queue in, out;
    uint8_t *buffer;
    size_t buffer_size;
    int quiet_ms;                   ///< between two checks without work; -1: until there is some
    uint64_t transfers, drop_after; ///< the device unplugs itself after so many; 0: never
};

// ---- bulk transfers -----------------------------------------------------------------------------

static void end_bulk(struct server *s, struct pending *p, int status, uint8_t *data, size_t bytes)
{
    struct usb_redir_bulk_packet_header h = p->header;
    h.status = (uint8_t)status;
    h.length = (uint16_t)bytes;
    h.length_high = (uint16_t)(bytes >> 16);
    usbredirparser_send_bulk_packet(s->parser, p->id, &h, data, data ? (int)bytes : 0);
    free(p->data);
    s->transfers++;
}

static struct pending *in_queue(struct queue *q, unsigned at)
{
    return &q->item[(q->first + at) % q->room];
}

/// Returns false without memory.
static bool add(struct queue *q, struct pending p)
{
    if (q->count == q->room) {
        struct queue more = {.room = q->room ? 2 * q->room : PENDING, .count = q->count};
        more.item = calloc(more.room, sizeof *more.item);
        if (!more.item)
            return false;
        for (unsigned at = 0; at < q->count; at++)
            more.item[at] = *in_queue(q, at);
        free(q->item);
        *q = more;
    }
    q->count++;
    *in_queue(q, q->count - 1) = p;
    return true;
}

static void drop_first(struct queue *q)
{
    q->first = (q->first + 1) % q->room;
    q->count--;
}

static bool move_out(struct server *s)
{
    if (!s->out.count)
        return false;
    struct pending *p = in_queue(&s->out, 0);
    if (!mwd_out(s->device, p->data, p->bytes))
        return false;
    end_bulk(s, p, usb_redir_success, NULL, p->bytes);
    drop_first(&s->out);
    return true;
}

static bool move_in(struct server *s)
{
    if (!s->in.count)
        return false;
    struct pending *p = in_queue(&s->in, 0);
    if (s->buffer_size < p->bytes) {
        uint8_t *more = realloc(s->buffer, p->bytes);
        if (!more) { // a host may request 128 MB
            end_bulk(s, p, usb_redir_ioerror, NULL, 0);
            drop_first(&s->in);
            return true;
        }
        s->buffer = more;
        s->buffer_size = p->bytes;
    }
    int bytes = mwd_in(s->device, s->buffer, p->bytes);
    if (bytes == MWD_NAK)
        return false;
    end_bulk(s, p, usb_redir_success, s->buffer, (size_t)bytes);
    drop_first(&s->in);
    return true;
}

static void end_all(struct server *s, struct queue *q, int status)
{
    for (; q->count; drop_first(q))
        end_bulk(s, in_queue(q, 0), status, NULL, 0);
}

static void bulk(void *context, uint64_t id, struct usb_redir_bulk_packet_header *h, uint8_t *data,
                 int bytes)
{
    struct server *s = context;
    bool in = h->endpoint & IN;
    struct queue *q = in ? &s->in : &s->out;
    struct pending p = {.id = id, .header = *h, .data = data, .bytes = (size_t)bytes};
    if (in)
        p.bytes = h->length | (size_t)h->length_high << 16;
    if (h->endpoint != (in ? MW_HOST_USB_IN : MW_HOST_USB_OUT))
        end_bulk(s, &p, usb_redir_stall, NULL, 0);
    else if (!add(q, p))
        end_bulk(s, &p, usb_redir_ioerror, NULL, 0);
}

/// The host no longer waits for this one.
static void cancel(void *context, uint64_t id)
{
    struct server *s = context;
    struct queue *const queues[] = {&s->in, &s->out};
    for (unsigned i = 0; i < 2; i++) {
        struct queue *q = queues[i];
        for (unsigned at = 0; at < q->count; at++) {
            if (in_queue(q, at)->id != id)
                continue;
            end_bulk(s, in_queue(q, at), usb_redir_cancelled, NULL, 0);
            for (q->count--; at < q->count; at++)
                *in_queue(q, at) = *in_queue(q, at + 1);
            return;
        }
    }
}

// ---- endpoint 0 ---------------------------------------------------------------------------------

static void tell_endpoints(struct server *s)
{
    struct usb_redir_ep_info_header e = {0};
    struct usb_redir_interface_info_header i = {.interface_count = 1};
    memset(e.type, usb_redir_type_invalid, ENDPOINTS);
    for (unsigned way = 0; way < ENDPOINTS; way += ENDPOINTS / 2) {
        e.type[way] = usb_redir_type_control;
        e.max_packet_size[way] = 64;
        e.type[way + 1] = usb_redir_type_bulk;
        e.max_packet_size[way + 1] = (uint16_t)s->packet;
    }
    i.interface_class[0] = MW_HOST_USB_CLASS;
    i.interface_subclass[0] = MW_HOST_USB_SUBCLASS;
    usbredirparser_send_interface_info(s->parser, &i);
    usbredirparser_send_ep_info(s->parser, &e);
}

static void hello(void *context, struct usb_redir_hello_header *h)
{
    struct server *s = context;
    struct usb_redir_device_connect_header c = {
        .speed = s->packet == FULL_SPEED ? usb_redir_speed_full : usb_redir_speed_high,
        .device_class = MW_HOST_USB_CLASS,
        .vendor_id = MW_HOST_USB_VENDOR,
        .product_id = MW_HOST_USB_PRODUCT,
        .device_version_bcd = MW_HOST_PROTOCOL_MAJOR << 8 | MW_HOST_PROTOCOL_MINOR};
    (void)h;
    tell_endpoints(s);
    usbredirparser_send_device_connect(s->parser, &c);
}

static void bus_reset(void *context)
{
    struct server *s = context;
    end_all(s, &s->in, usb_redir_cancelled);
    end_all(s, &s->out, usb_redir_cancelled);
    mwd_bus_reset(s->device);
}

static void control(void *context, uint64_t id, struct usb_redir_control_packet_header *h,
                    uint8_t *data, int bytes)
{
    struct server *s = context;
    static uint8_t answer[CONTROL_BYTES];
    const uint8_t setup[8] = {h->requesttype,   h->request,
                              h->value & 0xff,  (uint8_t)(h->value >> 8),
                              h->index & 0xff,  (uint8_t)(h->index >> 8),
                              h->length & 0xff, (uint8_t)(h->length >> 8)};
    (void)bytes;
    bool in = h->requesttype & IN;
    int count = mwd_control(s->device, setup, in ? answer : data);
    struct usb_redir_control_packet_header o = *h;
    o.status = count < 0 ? usb_redir_stall : usb_redir_success;
    o.length = (uint16_t)(count < 0 ? 0 : in ? count : h->length);
    usbredirparser_send_control_packet(s->parser, id, &o, in && count > 0 ? answer : NULL,
                                       in && count > 0 ? count : 0);
    free(data);
}

static void set_configuration(void *context, uint64_t id,
                              struct usb_redir_set_configuration_header *h)
{
    struct server *s = context;
    const uint8_t setup[8] = {0, 9, h->configuration};
    struct usb_redir_configuration_status_header o = {
        .status = mwd_control(s->device, setup, NULL) < 0 ? usb_redir_stall : usb_redir_success,
        .configuration = h->configuration};
    tell_endpoints(s);
    usbredirparser_send_configuration_status(s->parser, id, &o);
}

static void get_configuration(void *context, uint64_t id)
{
    struct server *s = context;
    const uint8_t setup[8] = {IN, 8, 0, 0, 0, 0, 1};
    struct usb_redir_configuration_status_header o = {.status = usb_redir_success};
    mwd_control(s->device, setup, &o.configuration);
    usbredirparser_send_configuration_status(s->parser, id, &o);
}

static void set_alt_setting(void *context, uint64_t id, struct usb_redir_set_alt_setting_header *h)
{
    struct server *s = context;
    struct usb_redir_alt_setting_status_header o = {
        .status = h->interface || h->alt ? usb_redir_stall : usb_redir_success,
        .interface = h->interface,
        .alt = h->alt};
    tell_endpoints(s);
    usbredirparser_send_alt_setting_status(s->parser, id, &o);
}

// ---- connection ---------------------------------------------------------------------------------

static int io_result(struct server *s, ssize_t count)
{
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (count <= 0) {
        s->closed = true;
        return -1;
    }
    return (int)count;
}

static int read_some(void *context, uint8_t *data, int count)
{
    struct server *s = context;
    return io_result(s, read(s->connection, data, (size_t)count));
}

static int write_some(void *context, uint8_t *data, int count)
{
    struct server *s = context;
    return io_result(s, write(s->connection, data, (size_t)count));
}

static void log_line(void *context, int level, const char *line)
{
    (void)context;
    if (level <= usbredirparser_warning)
        fprintf(stderr, "mw-usb-device: %s\n", line);
}

static void disconnect_acknowledged(void *context)
{
    (void)context;
}

static bool make_parser(struct server *s)
{
    struct usbredirparser *p = s->parser = usbredirparser_create();
    if (!p)
        return false;
    p->priv = s;
    p->log_func = log_line;
    p->read_func = read_some;
    p->write_func = write_some;
    p->hello_func = hello;
    p->reset_func = bus_reset;
    p->set_configuration_func = set_configuration;
    p->get_configuration_func = get_configuration;
    p->set_alt_setting_func = set_alt_setting;
    p->control_packet_func = control;
    p->bulk_packet_func = bulk;
    p->cancel_data_packet_func = cancel;
    p->device_disconnect_ack_func = disconnect_acknowledged;
    uint32_t caps[USB_REDIR_CAPS_SIZE] = {0};
    static const int own[] = {usb_redir_cap_connect_device_version, usb_redir_cap_64bits_ids,
                              usb_redir_cap_ep_info_max_packet_size,
                              usb_redir_cap_32bits_bulk_length,
                              usb_redir_cap_device_disconnect_ack};
    for (unsigned i = 0; i < sizeof own / sizeof *own; i++)
        usbredirparser_caps_set_cap(caps, own[i]);
    usbredirparser_init(p, "moeswitch", caps, USB_REDIR_CAPS_SIZE, usbredirparser_fl_usb_host);
    return true;
}

/// Unplugs the device and plugs it in again, once it has moved this many transfers.
static void drop(struct server *s)
{
    if (!s->drop_after || s->transfers < s->drop_after)
        return;
    s->transfers = 0;
    end_all(s, &s->in, usb_redir_cancelled);
    end_all(s, &s->out, usb_redir_cancelled);
    mwd_bus_reset(s->device);
    usbredirparser_send_device_disconnect(s->parser);
    hello(s, NULL);
}

static void serve(struct server *s)
{
    while (!s->closed) {
        bool writing = usbredirparser_has_data_to_write(s->parser);
        bool busy = move_out(s);
        busy |= mwd_work(s->device);
        busy |= move_in(s);
        drop(s);
        struct pollfd p = {s->connection, (short)(POLLIN | (writing ? POLLOUT : 0)), 0};
        writing = usbredirparser_has_data_to_write(s->parser);
        if (writing)
            p.events |= POLLOUT;
        if (poll(&p, 1, busy ? 0 : s->quiet_ms) < 0 && errno != EINTR)
            return;
        if (p.revents & (POLLIN | POLLHUP) && usbredirparser_do_read(s->parser) < 0)
            return;
        if (writing && p.revents & POLLOUT && usbredirparser_do_write(s->parser) < 0)
            return;
    }
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        fprintf(stderr, "mw-usb-device: %s: too long for a socket\n", path);
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    unlink(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 1)) {
        perror(path);
        return -1;
    }
    return fd;
}

static void usage(FILE *out)
{
    fputs(
        "usage: mw-usb-device --socket PATH (--whole libmwdevice.so | --model libmwsim.so | "
        "--stub)\n"
        "                     [OPTION]...\n"
        "A USB device for a virtual machine that holds the whole Verilated device behind its USB\n"
        "core, or a Verilated fabric or memories alone behind a link and firmware in C:\n"
        "  qemu-system-x86_64 -device qemu-xhci -chardev socket,id=u,path=PATH \\\n"
        "      -device usb-redir,chardev=u\n"
        "It serves one connection and ends with it. A host of your own reaches it from such a\n"
        "machine, or speaks usbredir at the socket; docs/developer/testing.md has both.\n"
        "  --socket PATH         where it listens; a file that is there is replaced\n"
        "  --whole FILE          the Verilated device: its RTL answers every byte\n"
        "  --model FILE          a Verilated fabric behind a link and a firmware in C\n"
        "  --stub                two memories of 16 MB behind these; a layer is done at once\n"
        "  --serial TEXT         its serial number, at most 31 characters (default SIM)\n"
        "  --full-speed          packets of 64 bytes (default 512)\n"
        "  --drop-after N        unplug it for a moment after every N bulk transfers (default 0:\n"
        "                        never)\n"
        "  --help                this\n"
        "Exit status: 0 the connection ended, 1 the device or the socket could not be made (one\n"
        "line says why), 2 the command line is wrong.\n",
        out);
}

struct asked {
    const char *path, *model, *whole;
    bool stub;
    struct mwd_settings settings;
    uint64_t drop_after;
};

static bool complain(const char *what)
{
    fprintf(stderr, "mw-usb-device: %s: see mw-usb-device --help\n", what);
    return false;
}

/// Prints the first error of the options in one line. Returns whether there is none.
static bool sensible(const struct asked *a, bool number_good)
{
    const unsigned kinds = a->stub + (a->model != NULL) + (a->whole != NULL);
    if (!a->path || !*a->path)
        return complain(a->path ? "--socket: the name is empty" : "--socket PATH is missing");
    if (kinds != 1)
        return complain(kinds ? "more than one of --whole, --model and --stub"
                              : "none of --whole, --model and --stub");
    if (strlen(a->settings.serial) > SERIAL_MAX)
        return complain("--serial: more than 31 characters");
    return number_good || complain("--drop-after: not a whole number from 0 on");
}

static bool number(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 0);
    return *text >= '0' && *text <= '9' && !*end && !errno;
}

/// Returns false after an error in the command line, which is reported in one line, or after the
/// usage (`help`).
static bool parse(struct asked *a, bool *help, int argc, char **argv)
{
    enum { SOCKET = 256, MODEL, WHOLE, STUB, SERIAL, FULL, DROP, HELP };
    static const struct option options[] = {{"socket", required_argument, NULL, SOCKET},
                                            {"model", required_argument, NULL, MODEL},
                                            {"whole", required_argument, NULL, WHOLE},
                                            {"stub", no_argument, NULL, STUB},
                                            {"serial", required_argument, NULL, SERIAL},
                                            {"full-speed", no_argument, NULL, FULL},
                                            {"drop-after", required_argument, NULL, DROP},
                                            {"help", no_argument, NULL, HELP},
                                            {NULL, 0, NULL, 0}};
    *a = (struct asked){.settings = {.serial = "SIM", .packet = HIGH_SPEED}};
    *help = false;
    bool known = true, number_good = true;
    for (int id; (id = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (id == SOCKET)
            a->path = optarg;
        else if (id == MODEL)
            a->model = optarg;
        else if (id == WHOLE)
            a->whole = optarg;
        else if (id == STUB)
            a->stub = true;
        else if (id == SERIAL)
            a->settings.serial = optarg;
        else if (id == FULL)
            a->settings.packet = FULL_SPEED;
        else if (id == DROP)
            number_good = number(optarg, &a->drop_after);
        else if (id == HELP)
            *help = true;
        else
            known = false;
    }
    if (*help)
        usage(stdout);
    if (*help || !known) // getopt has reported unknown options itself
        return false;
    if (optind < argc)
        return complain("an argument that belongs to no option");
    return sensible(a, number_good);
}

static bool connect_at(struct server *s, const char *path)
{
    int listening = listen_at(path);
    if (listening < 0)
        return false;
    s->connection = accept(listening, NULL, NULL);
    close(listening);
    if (s->connection >= 0 && fcntl(s->connection, F_SETFL, O_NONBLOCK) == 0)
        return true;
    perror(path);
    return false;
}

/// If a standard descriptor is closed, the socket would get its number, and messages would go to
/// the host. Its replacement can be neither read nor written.
static void occupy_closed(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/", O_PATH | O_DIRECTORY) < 0)
            return;
}

int main(int argc, char **argv)
{
    struct asked asked;
    struct mwd_backend backend = {0};
    bool help;
    occupy_closed();
    if (!parse(&asked, &help, argc, argv))
        return help ? 0 : 2;
    signal(SIGPIPE, SIG_IGN);
    if (asked.stub && !mwd_stub(&backend, STUB_GPUS, STUB_FLIT, STUB_MEM))
        return 1;
    if (asked.model && !mwd_fabric(&backend, asked.model))
        return 1;
    struct server s = {.packet = asked.settings.packet,
                       .quiet_ms = asked.whole ? QUIET_MS : -1,
                       .drop_after = asked.drop_after};
    s.device = asked.whole ? mwd_create_whole(asked.whole, &asked.settings)
                           : mwd_create(&backend, &asked.settings);
    if (!s.device || !make_parser(&s) || !connect_at(&s, asked.path))
        return 1;
    serve(&s);
    unlink(asked.path);
    usbredirparser_destroy(s.parser);
    mwd_destroy(s.device);
    if (backend.close)
        backend.close(backend.context);
    free(s.buffer);
    free(s.in.item);
    free(s.out.item);
    return 0;
}
