// SPDX-License-Identifier: Apache-2.0
//
// Firmware into a device over a mocked usbfs, by `moeswitch firmware` and by the library. A refused
// image does not change the device. An image that does not answer is replaced by the previous one.
// If a load stopped at any step, the next call repairs it.
#include "bus.h"
#include "device/device.h"
#include "host/support.h"
#include "run/info.h"

#include "moeswitch.h"

#include <unistd.h>

#include "base/random.h"
#include "base/text.h"

enum {
    SMALL_TIMEOUT = 300,    ///< ms
    WHOLE_TIMEOUT = 600000, ///< of the Verilated device, on a slow machine, too
    WORDS = 1000,
    STUB_VERSION = 1, ///< what a stub begins with
    RAM_WORDS = MWD_RAM_BYTES / 4,
    HEADER = MW_HOST_IMAGE_AT / 4, ///< words of the image
    VERSION_AT = HEADER + offsetof(struct mw_frame_image, version) / 4,
    SOC_AT = HEADER + offsetof(struct mw_frame_image, soc) / 4,
    BYTES_AT = HEADER + offsetof(struct mw_frame_image, bytes) / 4,
    RAM_AT = HEADER + offsetof(struct mw_frame_image, ram_bytes) / 4,
};

#define WHOLE "build/model/dev-n2f8/libmwdevice.so"
#define FIRMWARE "build/firmware/firmware.hex"

static struct mw_random rng = {1};
static char folder[] = "/tmp/test_firmware_XXXXXX";
static char *out_text, *error_text;

// ---- files --------------------------------------------------------------------------------------

static struct {
    char name[32], path[64];
} names[24]; ///< of the requested files

static const char *in_folder(const char *name)
{
    unsigned i = 0;
    while (*names[i].name && strcmp(names[i].name, name) != 0)
        i++;
    assert_true(i + 1 < sizeof names / sizeof *names);
    snprintf(names[i].name, sizeof names[i].name, "%s", name);
    snprintf(names[i].path, sizeof names[i].path, "%s/%s", folder, name);
    return names[i].path;
}

static void write_words(const char *path, const uint32_t *words, size_t count)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("@0\n", f);
    for (size_t i = 0; i < count; i++)
        fprintf(f, "%x\n", words[i]);
    assert_int_equal(fclose(f), 0);
}

static uint32_t made[WORDS + 1]; ///< the last image, of WORDS words

/// Make one that begins with that instruction.
static void make_image(uint32_t first, uint32_t version)
{
    for (size_t i = 0; i < WORDS; i++)
        made[i] = (uint32_t)mw_random_next(&rng) | 1;
    made[0] = first;
    made[VERSION_AT] = version;
    made[SOC_AT] = 1;
    made[RAM_AT] = MWD_RAM_BYTES;
    mwd_image_seal(made, WORDS);
}

static const char *image_file(const char *name, uint32_t first, uint32_t version)
{
    make_image(first, version);
    const char *path = in_folder(name);
    write_words(path, made, WORDS);
    return path;
}

/// The file must be missing, or contain an image of that version.
static void assert_file(const char *path, bool there, uint32_t version)
{
    char *text = read_file(path);
    uint32_t words[RAM_WORDS] = {0};
    size_t count = 0;
    struct mw_firmware_image image;
    assert_int_equal(text != NULL, there);
    if (!there)
        return;
    for (char *t = strtok(text, " \n"); t; t = strtok(NULL, " \n"))
        if (*t != '@')
            words[count++] = (uint32_t)strtoul(t, NULL, 16);
    free(text);
    assert_int_equal(mw_firmware_check(words, count, &image), 0);
    assert_int_equal(image.bytes, count * 4);
    assert_int_equal(image.version, version);
}

// ---- the command and the library ----------------------------------------------------------------

typedef int command_of(int argc, char **argv, FILE *out, FILE *err);

/// Call a command with these words, which end with NULL.
static int call(command_of *run, const char *const *words)
{
    int count = 0;
    size_t out_size, error_size;
    free(out_text);
    free(error_text);
    while (words[count])
        count++;
    FILE *out = open_memstream(&out_text, &out_size);
    FILE *errors = open_memstream(&error_text, &error_size);
    int status = run(count, (char **)words, out, errors);
    fclose(out);
    fclose(errors);
    const char *end = strchr(error_text, '\n');
    if (status ? !end || end[1] : *error_text != 0)
        fail_msg("status %d, \"%s\"", status, error_text);
    return status;
}

static void assert_said(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

#define COMMAND(...) call(mw_firmware_command, (const char *const[]){"firmware", __VA_ARGS__, NULL})
/// The command ends with that status and that cause.
#define FAILS(status, cause, ...) \
    do { \
        assert_int_equal(COMMAND(__VA_ARGS__), status); \
        assert_said(error_text, cause); \
    } while (0)

static struct mw_open_options options(unsigned timeout_ms)
{
    struct mw_open_options o;
    mw_open_defaults(&o);
    o.transport = "usb";
    o.gpus = o.flit_bytes = 0;
    o.timeout_ms = timeout_ms;
    return o;
}

static struct mw_firmware opened; ///< by open_it

static int open_it(void)
{
    struct mw_open_options o = options(SMALL_TIMEOUT);
    struct mw_device *d;
    int status = mw_open(&o, &d);
    if (status)
        return status;
    assert_int_equal(mw_firmware_info(d, &opened), 0);
    mw_close(d);
    return 0;
}

/// `moeswitch info` must say this of the firmware.
static void assert_info(const char *part)
{
    static const char *const words[] = {"info", "--device", "usb", NULL};
    assert_int_equal(call(mw_info_command, words), 0);
    assert_said(out_text, part);
}

/// The device must open, with firmware of that version that was started this often.
static void assert_runs(uint32_t version, unsigned starts)
{
    if (open_it())
        fail_msg("%s", mw_message());
    assert_int_equal(opened.version, version);
    if (starts)
        assert_int_equal(opened.resets, starts - 1);
}

static int load(void)
{
    struct mw_open_options o = options(SMALL_TIMEOUT);
    return mw_firmware_load(&o, made, WORDS, NULL, NULL);
}

// ---- what works ---------------------------------------------------------------------------------

static void test_load_and_back(void **state)
{
    (void)state;
    struct bus *bus = bus_create();
    bus_plug(bus, &(struct mwd_settings){.serial = "A"});
    const char *file = image_file("a.hex", MWD_RUNS, 0x02030004),
               *before = in_folder("a.hex.before");
    assert_int_equal(COMMAND(file), 0);
    assert_said(out_text, "before  0.0.1, 256 bytes, kept in ");
    assert_said(out_text, "now     2.3.4, 4000 bytes\n");
    assert_runs(0x02030004, 2);
    assert_file(before, true, STUB_VERSION);
    // the same again: what was kept stays
    assert_int_equal(COMMAND(file, "--device", "usb:A"), 0);
    assert_said(out_text, "before  2.3.4, 4000 bytes, the same\n");
    assert_file(before, true, STUB_VERSION);
    assert_int_equal(COMMAND("--read", in_folder("read.hex")), 0);
    assert_file(in_folder("read.hex"), true, 0x02030004);
    assert_runs(0x02030004, 4);
    assert_int_equal(COMMAND("--save", in_folder("other"), before), 0);
    assert_file(in_folder("other"), true, 0x02030004);
    assert_file(in_folder("a.hex.before.before"), false, 0);
    assert_runs(STUB_VERSION, 5);
    assert_info("firmware         0.0.1, self-test, error log, queue of layers, restarts since "
                "power-up: 4\n");
    bus_destroy(bus);
}

/// The present image is reported before it is replaced. A callback that refuses keeps it.
static int refuse(void *context, const uint32_t *words, size_t count)
{
    assert_int_equal(count, RAM_WORDS);
    assert_int_equal(words[VERSION_AT], STUB_VERSION);
    ++*(unsigned *)context;
    return 1;
}

static void test_kept(void **state)
{
    (void)state;
    struct bus *bus = bus_create();
    bus_plug(bus, &(struct mwd_settings){.serial = "A"});
    struct mw_open_options o = options(SMALL_TIMEOUT);
    uint32_t ram[RAM_WORDS + 1], some[3];
    size_t count;
    unsigned calls = 0;
    make_image(MWD_RUNS, 7);
    assert_int_equal(mw_firmware_load(&o, made, WORDS, refuse, &calls), MW_ERR_CANCELED);
    assert_int_equal(calls, 1);
    assert_runs(STUB_VERSION, 2);
    assert_int_equal(mw_firmware_read(&o, ram, RAM_WORDS + 1, &count), 0);
    assert_int_equal(count, RAM_WORDS);
    assert_int_equal(mw_firmware_read(&o, some, 3, &count), 0);
    assert_int_equal(count, RAM_WORDS);
    assert_memory_equal(some, ram, sizeof some);
    // a copy that cannot be written prevents the load, too
    const char *file = image_file("b.hex", MWD_RUNS, 8);
    assert_int_equal(COMMAND(file, "--save", in_folder("nowhere/before")), 2);
    assert_runs(STUB_VERSION, 4);
    bus_destroy(bus);
}

// ---- what is refused ----------------------------------------------------------------------------

static void test_bad_files(void **state)
{
    (void)state;
    struct bus *bus = bus_create();
    struct bus_device *d = bus_plug(bus, &(struct mwd_settings){.serial = "A"});
    const char *file = in_folder("bad.hex");
    static const struct {
        const char *text, *says;
    } texts[] = {
        {"", "no firmware: it has no header"},
        {"@0\n12345678 9abcdef\n", "no firmware: it has no header"},
        {"\n12345678 \x7f"
         "ELF\n",
         ":2: '" MW_TEXT_REPLACEMENT "ELF' is no hexadecimal word: make firmware writes"},
        {"123456789\n", ":1: '123456789' is no hexadecimal word"},
        {"0x12\n", ":1: '0x12' is no"},
        {"@\n", ":1: '@' is no"},
        {"@40000 1\n", ":1: more than the 262144 words"},
    };
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_file(file, texts[i].text, strlen(texts[i].text));
        FAILS(2, texts[i].says, file);
    }
    write_file(file, "1\0002\n", 4);
    FAILS(2, ":1: '1?2' is no hexadecimal word", file);
    make_image(MWD_RUNS, 9);
    for (unsigned i = 0; i < 200; i++) {
        unsigned at = (unsigned)mw_random_below(&rng, WORDS);
        uint32_t flip = 1u << mw_random_below(&rng, 32);
        made[at] ^= flip;
        write_words(file, made, WORDS);
        assert_int_equal(COMMAND(file), 2);
        made[at] ^= flip;
    }
    assert_said(error_text, "bad.hex: ");
    write_words(file, made, WORDS - 1);
    FAILS(2, "cut short: 3996 of 4000 bytes", file);
    made[WORDS] = 1;
    write_words(file, made, WORDS + 1);
    FAILS(2, "1 words after the firmware's end", file);
    FAILS(2, "No such file", in_folder("nothing"));
    FAILS(2, "/dev/zero: not a regular file", "/dev/zero"); // which has no end
    assert_int_equal(call(mw_firmware_command, (const char *const[]){"firmware", NULL}), 2);
    assert_int_equal(COMMAND("--read", file, "--save", file), 2);
    assert_int_equal(COMMAND(file, file), 2);
    assert_file(in_folder("bad.hex.before"), false, 0);
    assert_int_equal(bus_counts(d).out, 0);
    bus_destroy(bus);
}

/// Only registers of the device were read.
static void test_not_for_this_device(void **state)
{
    (void)state;
    static const struct {
        uint32_t soc, ram_bytes;
        unsigned minor;
        const char *says;
    } cases[] = {
        {1 << 16, MWD_RAM_BYTES, 0,
         "needs registers of the SoC 1.0, the device has 0.2: load a newer bitstream"},
        {3, MWD_RAM_BYTES, 0, "needs registers of the SoC 0.3, the device has 0.2"},
        {2, 2 * MWD_RAM_BYTES, 0, "needs a RAM of 32768 bytes, the device has 16384"},
        {1, MWD_RAM_BYTES, 1, "(registers of the SoC 0.1, 0.2 has that): make firmware-bitstream"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bus *bus = bus_create();
        bus_plug(bus, &(struct mwd_settings){.serial = "A", .soc_minor = cases[i].minor});
        const char *file = in_folder("other.hex");
        make_image(MWD_RUNS, 9);
        made[SOC_AT] = cases[i].soc;
        made[RAM_AT] = cases[i].ram_bytes;
        mwd_image_seal(made, WORDS);
        write_words(file, made, WORDS);
        FAILS(2, cases[i].says, file);
        assert_file(in_folder("other.hex.before"), false, 0);
        assert_runs(STUB_VERSION, 1);
        bus_destroy(bus);
    }
}

static void test_no_device(void **state)
{
    (void)state;
    struct bus *bus = bus_create();
    const char *file = image_file("c.hex", MWD_RUNS, 3);
    size_t count;
    FAILS(4, "no moeswitch", file);
    FAILS(4, "transport sim: there is no firmware to load", file, "--device", "sim");
    struct mw_open_options sim;
    mw_open_defaults(&sim);
    make_image(MWD_RUNS, 3);
    assert_int_equal(mw_firmware_load(&sim, made, WORDS, NULL, NULL), MW_ERR_NODEV);
    assert_int_equal(mw_firmware_read(&sim, made, WORDS, &count), MW_ERR_NODEV);
    // another process has it
    bus_plug(bus, &(struct mwd_settings){.serial = "A"});
    struct mw_open_options o = options(SMALL_TIMEOUT);
    struct mw_device *other;
    assert_int_equal(mw_open(&o, &other), 0);
    FAILS(4, "device A is in use by another program", file);
    assert_int_equal(load(), MW_ERR_BUSY);
    mw_close(other);
    assert_runs(STUB_VERSION, 1);
    assert_file(in_folder("c.hex.before"), false, 0);
    bus_destroy(bus);
}

// ---- the way back -------------------------------------------------------------------------------

/// An image that never starts, and one that starts but answers no command, so that only a USB reset
/// frees the link.
static void test_no_answer(void **state)
{
    (void)state;
    static const uint32_t firsts[] = {MWD_LOOP, MWD_DEAF};
    for (unsigned i = 0; i < 2; i++) {
        struct bus *bus = bus_create();
        struct bus_device *d = bus_plug(bus, &(struct mwd_settings){.serial = "A"});
        make_image(firsts[i], 5);
        assert_int_equal(load(), MW_ERR_FIRMWARE);
        assert_said(mw_message(), "the previous firmware runs again");
        assert_said(mw_message(), i ? "no reply to INFO" : "did not come up within 300 ms");
        assert_int_equal(bus_counts(d).resets, i);
        assert_runs(STUB_VERSION, 3);
        bus_destroy(bus);
    }
}

static void test_ram_that_forgets(void **state)
{
    (void)state;
    struct bus *bus = bus_create();
    bus_plug(bus, &(struct mwd_settings){.serial = "A", .stuck_word = 300});
    const char *file = image_file("d.hex", MWD_RUNS, 6);
    FAILS(5, "the RAM holds 0x", file);
    assert_said(error_text, " at byte 1200, where 0x");
    assert_said(error_text, "the previous firmware runs again");
    assert_file(in_folder("d.hex.before"), true, STUB_VERSION);
    assert_runs(STUB_VERSION, 2);
    bus_destroy(bus);
}

/// A host that ends at any moment of a load. The device reports its error, and the next load
/// repairs it. The saved image is not replaced by a damaged one.
static void test_host_that_ends(void **state)
{
    (void)state;
    const char *file = image_file("e.hex", MWD_RUNS, 10), *before = in_folder("e.hex.before");
    unsigned held = 0, mended = 0;
    for (unsigned after = 0;; after += 1 + (unsigned)mw_random_below(&rng, 12)) {
        struct bus *bus = bus_create();
        struct bus_device *d = bus_plug(bus, &(struct mwd_settings){.serial = "A"});
        remove(before);
        bus_fault(d, BUS_UNPLUG, after, 0);
        int status = COMMAND(file);
        bus_fault(d, BUS_NONE, 0, 0);
        if (status == 0) {
            bus_destroy(bus);
            break;
        }
        assert_int_equal(status, 4);
        bool kept = access(before, F_OK) == 0;
        bus_replug(d);
        int code = open_it();
        if (code) {
            held++;
            assert_int_equal(code, MW_ERR_FIRMWARE);
            assert_said(mw_message(), "processor is held: its firmware does not answer; `moeswitch "
                                      "firmware FILE` loads one");
            assert_said(error_text,
                        "its processor may be held: repeat `moeswitch firmware FILE` to repair it");
            // reading it leaves it so
            int read = COMMAND("--read", in_folder("damaged.hex"));
            assert_true(read == 0 || read == 1);
            if (read)
                assert_file(in_folder("damaged.hex"), false, 0);
            remove(in_folder("damaged.hex"));
            assert_int_equal(open_it(), MW_ERR_FIRMWARE);
        }
        mended += kept;
        if (COMMAND(file))
            fail_msg("after %u transfers: %s", after, error_text);
        assert_file(before, kept || access(before, F_OK) == 0, STUB_VERSION);
        assert_runs(10, 0);
        bus_destroy(bus);
    }
    print_message("%u times held, %u times with the firmware of before kept\n", held, mended);
    assert_true(held > 10 && mended > 5);
}

/// A load that was interrupted leaves the processor held. Then a load of an image that does not
/// answer leaves it held, too.
static void test_held_before(void **state)
{
    (void)state;
    struct bus *bus = bus_create();
    struct bus_device *d = bus_plug(bus, &(struct mwd_settings){.serial = "A"});
    bus_fault(d, BUS_UNPLUG, 20, 0);
    make_image(MWD_RUNS, 4);
    assert_int_equal(load(), MW_ERR_NODEV);
    bus_replug(d);
    assert_int_equal(open_it(), MW_ERR_FIRMWARE);
    make_image(MWD_LOOP, 4);
    assert_int_equal(load(), MW_ERR_FIRMWARE);
    assert_said(mw_message(), "the processor is held, as it was before");
    assert_int_equal(open_it(), MW_ERR_FIRMWARE);
    make_image(MWD_RUNS, 4);
    assert_int_equal(load(), 0);
    assert_runs(4, 0);
    bus_destroy(bus);
}

/// The firmware of a device answers nothing. The library reports it, and a load needs none of its
/// answers.
static void test_mend(void **state)
{
    (void)state;
    static const struct {
        unsigned first, resets;
        const char *says;
    } cases[] = {{MWD_DEAF, 1, "no reply to INFO for 300 ms: its firmware does not answer"},
                 {MWD_LOOP, 0, "processor started anew: its firmware does not answer"}};
    for (unsigned i = 0; i < 2; i++) {
        struct bus *bus = bus_create();
        struct bus_device *d =
            bus_plug(bus, &(struct mwd_settings){.serial = "A", .first = cases[i].first});
        assert_int_equal(open_it(), MW_ERR_FIRMWARE);
        assert_said(mw_message(), cases[i].says);
        // the link may still be kept by that INFO
        make_image(MWD_RUNS, 12);
        assert_int_equal(load(), 0);
        assert_int_equal(bus_counts(d).resets, cases[i].resets);
        assert_runs(12, 0);
        bus_destroy(bus);
    }
}

/// Damaged transfers. The lost data are sent again, or the call reports what failed and the next
/// one repairs it.
static void test_faults(void **state)
{
    (void)state;
    unsigned failed = 0, well = 0;
    struct bus *bus = bus_create();
    struct bus_device *d = bus_plug(bus, &(struct mwd_settings){.serial = "A"});
    for (unsigned i = 0; i < 90; i++) {
        make_image(MWD_RUNS, 100 + i);
        bus_fault(d, (enum bus_fault)(1 + i % BUS_RESET), (unsigned)mw_random_below(&rng, 150),
                  mw_random_next(&rng) >> 8);
        int status = load();
        bus_fault(d, BUS_NONE, 0, 0);
        status ? failed++ : well++;
        if (status)
            assert_int_equal(load(), 0);
        assert_runs(100 + i, 0);
    }
    print_message("%u loads failed, %u did not\n", failed, well);
    assert_true(well > 55);
    bus_destroy(bus);
}

// ---- the whole device ---------------------------------------------------------------------------

/// The real firmware on the Verilated processor: it starts when the SoC releases it, and replaces
/// one that does not start.
static void test_whole_device(void **state)
{
    (void)state;
    struct bus *bus = bus_create();
    bus_plug_in(bus, &(struct bus_plugged){.settings = {.serial = "sim"}, .whole = WHOLE});
    struct mw_open_options o = options(WHOLE_TIMEOUT);
    struct mw_device *device;
    struct mw_firmware f;
    struct mw_log_entry log[8];
    size_t count;
    const char *copy = in_folder("whole.hex");
    char *text = read_file(FIRMWARE);
    write_file(copy, text, strlen(text));
    free(text);
    assert_int_equal(COMMAND(copy), 0);
    assert_said(out_text, ", the same\n");
    o.timeout_ms = 3000;
    make_image(MWD_LOOP, 5);
    assert_int_equal(mw_firmware_load(&o, made, WORDS, NULL, NULL), MW_ERR_FIRMWARE);
    assert_said(mw_message(), "did not come up within 3000 ms; the previous firmware runs again");
    o.timeout_ms = WHOLE_TIMEOUT;
    assert_int_equal(mw_open(&o, &device), 0);
    assert_int_equal(mw_firmware_info(device, &f), 0);
    assert_int_equal(f.resets, 3);
    assert_int_equal(mw_log_read(device, 0, log, 8, &count), 0);
    assert_int_equal(count, 3); // the one that did not come up wrote none
    assert_int_equal(log[2].code, MW_LOG_BOOT);
    assert_int_equal(log[2].detail, 3);
    mw_close(device);
    bus_destroy(bus);
}

// ---------------------------------------------------------------------------------------

static int remove_folder(void **state)
{
    (void)state;
    for (unsigned i = 0; *names[i].name; i++)
        remove(names[i].path);
    free(out_text);
    free(error_text);
    return rmdir(folder);
}

int main(int argc, char **argv)
{
    (void)argc;
    bus_prepare(argv);
    const char *text = getenv("MW_SEED");
    rng.state = text ? strtoull(text, NULL, 0) : 1;
    print_message("seed %llu\n", (unsigned long long)rng.state);
    if (!mkdtemp(folder))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_and_back),    cmocka_unit_test(test_kept),
        cmocka_unit_test(test_bad_files),        cmocka_unit_test(test_not_for_this_device),
        cmocka_unit_test(test_no_device),        cmocka_unit_test(test_no_answer),
        cmocka_unit_test(test_ram_that_forgets), cmocka_unit_test(test_host_that_ends),
        cmocka_unit_test(test_held_before),      cmocka_unit_test(test_mend),
        cmocka_unit_test(test_faults),           cmocka_unit_test(test_whole_device),
    };
    return cmocka_run_group_tests_name("firmware over USB", tests, NULL, remove_folder);
}
