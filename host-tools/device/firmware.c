// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch firmware`: a firmware into a device, and out of it. Files are words in hexadecimal, as
// $readmemh reads them and the build makes them.
#include "base/input.h"
#include "base/output.h"
#include "base/text.h"
#include "cli/command_help.h"
#include "cli/tables.h"
#include "device/device.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORDS = 1 << 18, ///< of the largest RAM
    PER_LINE = 8,
    TOKEN = 16, ///< more than the characters of a word
    SUFFIX = 8, ///< ".before", and its end
};

struct asked {
    struct mw_device_choice device;
    const char *file, *save;
    bool read;
};

// ---- files --------------------------------------------------------------------------------------

struct reader {
    const char *path;
    FILE *file;
    unsigned line;
    uint32_t *words; ///< WORDS of them
    size_t at, count;
};

/// The next word of the file, cut to what `token` holds, a NUL as a question mark;
/// false: there is none.
static bool next_token(struct reader *r, char token[TOKEN])
{
    size_t length = 0;
    int c;
    while ((c = getc(r->file)) != EOF && isspace(c))
        r->line += c == '\n';
    for (; c != EOF && !isspace(c); c = getc(r->file))
        if (length < TOKEN - 1)
            token[length++] = c ? (char)c : '?';
    if (c != EOF)
        ungetc(c, r->file);
    token[length] = 0;
    return length;
}

static int take_token(struct reader *r, const char *token, struct mw_error *err)
{
    const bool place = *token == '@';
    const char *digits = token + place;
    const size_t length = strlen(digits);
    if (!length || strspn(digits, "0123456789abcdefABCDEF") != length || length > 8)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s:%u: '%s' is no hexadecimal word: make firmware writes such a file",
                       r->path, r->line, token);
    const unsigned long value = strtoul(digits, NULL, 16);
    if (place) {
        r->at = value;
        return MW_EXIT_OK;
    }
    if (r->at >= WORDS)
        return mw_fail(err, MW_EXIT_INPUT, "%s:%u: more than the %d words of the largest RAM",
                       r->path, r->line, WORDS);
    r->words[r->at++] = (uint32_t)value;
    r->count = r->at > r->count ? r->at : r->count;
    return MW_EXIT_OK;
}

/// Words that the file leaves out are 0.
static int read_file(const char *path, uint32_t *words, size_t *count, struct mw_error *err)
{
    char token[TOKEN];
    struct reader r = {.path = path, .line = 1, .words = words};
    size_t size;
    int status = mw_input_open(&r.file, &size, path, err);
    if (status)
        return status;
    errno = 0;
    while (!status && next_token(&r, token))
        status = take_token(&r, token, err);
    if (!status && ferror(r.file))
        status = mw_fail(err, MW_EXIT_INPUT, "%s: %s", path, strerror(errno));
    fclose(r.file);
    *count = r.count;
    return status;
}

static int write_file(const char *path, const uint32_t *words, size_t count, struct mw_error *err)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return mw_fail_memory(err, "the firmware");
    fputs("@00000000\n", f);
    for (size_t i = 0; i < count; i++)
        fprintf(f, "%08" PRIX32 "%c", words[i],
                i + 1 == count || i % PER_LINE == PER_LINE - 1 ? '\n' : ' ');
    int status = fclose(f) ? mw_fail_memory(err, "the firmware") : MW_EXIT_OK;
    if (!status)
        status = mw_output_write(path, text, size, err);
    free(text);
    return status;
}

// ---- the device ---------------------------------------------------------------------------------

static int failed(struct mw_error *err, int code)
{
    if (code == MW_ERR_FIRMWARE)
        return mw_fail(err, MW_EXIT_BACK, "%s", mw_message());
    if (code == MW_ERR_VERSION)
        return mw_fail(err, MW_EXIT_INPUT, "%s", mw_message());
    return mw_device_failed(err, "firmware", code);
}

static void show(FILE *out, const char *what, const struct mw_firmware_image *i, const char *rest)
{
    fprintf(out, "%-7s %" PRIu32 ".%" PRIu32 ".%" PRIu32 ", %" PRIu32 " bytes%s\n", what,
            i->version >> 24, i->version >> 16 & 0xff, i->version & 0xffff, i->bytes, rest);
}

static int read_device(const struct asked *a, FILE *out, struct mw_error *err)
{
    struct mw_open_options o;
    struct mw_firmware_image image;
    size_t count;
    int status = mw_output_probe(a->file, err);
    if (status)
        return status;
    uint32_t *words = calloc(WORDS, sizeof *words);
    if (!words)
        return mw_fail_memory(err, "the firmware");
    mw_device_options(&a->device, &o);
    int code = mw_firmware_read(&o, words, WORDS, &count);
    if (code)
        status = failed(err, code);
    else if (mw_firmware_check(words, count, &image))
        status = mw_fail(err, MW_EXIT_MISMATCH,
                         "the contents of the device's RAM are not saved: %s: `moeswitch firmware "
                         "FILE` loads a complete firmware",
                         mw_message());
    else
        status = write_file(a->file, words, image.bytes / sizeof *words, err);
    free(words);
    if (!status)
        show(out, "read", &image, "");
    return status;
}

/// What is needed for the firmware that a device has.
struct keeping {
    const uint32_t *loaded; ///< the one that comes
    struct mw_firmware_image image;
    const char *path;
    FILE *out;
    struct mw_error *err;
    int status;
};

/// What is damaged, or the same as what comes, does not take the place of what was kept before.
static int keep(void *context, const uint32_t *words, size_t count)
{
    struct keeping *k = context;
    struct mw_firmware_image before;
    char rest[MW_PATH_BYTES + SUFFIX + 32];
    if (mw_firmware_check(words, count, &before)) {
        fprintf(k->out, "before  not kept: %s\n", MW_SHOWN(mw_message()));
        return 0;
    }
    if (before.bytes == k->image.bytes && memcmp(words, k->loaded, before.bytes) == 0) {
        show(k->out, "before", &before, ", the same");
        return 0;
    }
    k->status = write_file(k->path, words, before.bytes / sizeof *words, k->err);
    if (!k->status) {
        snprintf(rest, sizeof rest, ", kept in %s", MW_SHOWN(k->path));
        show(k->out, "before", &before, rest);
    }
    return k->status;
}

static int load_words(const struct asked *a, const uint32_t *words, size_t count, FILE *out,
                      struct mw_error *err)
{
    char path[MW_PATH_BYTES + SUFFIX];
    struct mw_open_options o;
    struct keeping k = {.loaded = words, .path = a->save ? a->save : path, .out = out, .err = err};
    if ((size_t)snprintf(path, sizeof path, "%s.before", a->file) >= sizeof path && !a->save)
        return mw_fail(err, MW_EXIT_INPUT, "%s: the name is too long: --save FILE", a->file);
    int status = mw_outputs_spare((const char *const[]){"save"}, &k.path, 1, a->file, err);
    if (status)
        return status;
    if (mw_firmware_check(words, count, &k.image))
        return mw_fail(err, MW_EXIT_INPUT, "%s: %s: make firmware writes a complete one", a->file,
                       mw_message());
    if (k.image.bytes / sizeof *words != count)
        return mw_fail(err, MW_EXIT_INPUT, "%s: %zu words after the firmware's end", a->file,
                       count - k.image.bytes / sizeof *words);
    status = mw_output_probe(k.path, err);
    if (status)
        return status;
    mw_device_options(&a->device, &o);
    int code = mw_firmware_load(&o, words, count, keep, &k);
    if (k.status)
        return k.status;
    if (code)
        return failed(err, code);
    show(out, "now", &k.image, "");
    return MW_EXIT_OK;
}

static int load(const struct asked *a, FILE *out, struct mw_error *err)
{
    size_t count = 0;
    uint32_t *words = calloc(WORDS, sizeof *words);
    if (!words)
        return mw_fail_memory(err, "the firmware");
    int status = read_file(a->file, words, &count, err);
    if (!status)
        status = load_words(a, words, count, out, err);
    free(words);
    return status;
}

// ---- the command --------------------------------------------------------------------------------

static int take_word(void *params, const char *text, struct mw_error *err)
{
    struct asked *a = params;
    if (a->file)
        return mw_fail(err, MW_EXIT_INPUT, "%s: unexpected word, see moeswitch firmware --help",
                       text);
    a->file = text;
    return MW_EXIT_OK;
}

#define AT(field) offsetof(struct asked, field)

static const struct mw_option options[] = {
    MW_OWN("device", AT(device), mw_set_device, "usb[:SERIAL]",
           "which device (default: the only one)"),
    MW_PATH("save", AT(save), "FILE", "file for the previous firmware (default: FILE.before)"),
    MW_FLAG("read", AT(read), "save the firmware of the device in FILE, and load none"),
};

static MW_TERMS(exits, {"0", "the firmware runs, or was read"},
                {"1", "the firmware in the device is damaged, and was not saved"},
                {"2", "bad input, or a firmware for another device; the device is unchanged"},
                {"4", MW_EXIT_FAILED_TEXT "; repeat the command"},
                {"5", "the new firmware does not answer: the device has the previous one again"});
static const struct mw_section sections[] = {{"Exit status", exits}, {0}};

const struct mw_option_table mw_firmware_table = {
    .command = "firmware",
    .option = options,
    .count = sizeof options / sizeof *options,
    .word = take_word,
    .file = "FILE",
    .summary = "load a firmware into a device",
    .synopsis = "[OPTION]... FILE",
    .text = "Loads a firmware (build/firmware/firmware.hex of `make firmware`) into a device and "
            "starts it, even if the present firmware does not answer. It stays until power-off. "
            "Everything else in the device is lost. The previous firmware is saved, and restored "
            "if the new one does not answer.",
    .section = sections,
};

int mw_firmware_command(int argc, char **argv, FILE *out, FILE *errors)
{
    struct mw_error err = {0};
    struct mw_options_said said;
    struct asked a = {.device.usb = true};
    int status = mw_options_parse(&mw_firmware_table, argc, argv, &a, &said, &err);
    if (said.help && !status)
        mw_command_help(&mw_firmware_table, out);
    else if (!status && !a.file)
        status = mw_fail(&err, MW_EXIT_INPUT,
                         "the firmware's file is missing, see moeswitch firmware --help");
    else if (!status && a.read && a.save)
        status = mw_fail(&err, MW_EXIT_INPUT, "--save %s: --read changes nothing", a.save);
    else if (!status)
        status = a.read ? read_device(&a, out, &err) : load(&a, out, &err);
    return mw_device_finish(status, &err, errors);
}
