// SPDX-License-Identifier: Apache-2.0
//
// Tests of output files. The file that a path leads to gets the text, and keeps its owner, mode and
// names. It is complete or unchanged.
#include "host/support.h"

#include "base/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct mw_error err;

static int write_text(const char *path, const char *text)
{
    err = (struct mw_error){0};
    int status = mw_output_probe(path, &err);
    return status ? status : mw_output_write(path, text, strlen(text), &err);
}

static void assert_text(const char *path, const char *expected)
{
    char text[64];
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        fail_msg("%s: %s", path, strerror(errno));
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    assert_true(n >= 0);
    text[n] = 0;
    assert_string_equal(text, expected);
}

/// The text is at `path`, and in `file`, which is the file that `path` leads to.
static void arrives(const char *path, const char *file)
{
    if (write_text(path, "new"))
        fail_msg("%s: %s", path, err.text);
    assert_text(file, "new");
}

/// Files of the scratch folder: none may be left under another name.
static unsigned files(void)
{
    unsigned n = 0;
    DIR *d = opendir(scratch("."));
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

static void follows_links(void **state)
{
    (void)state;
    struct stat st;
    assert_int_equal(mkdir(scratch("links"), 0777), 0);
    write_file(scratch("links/file"), "old text", 8);
    assert_int_equal(symlink("links/file", scratch("one")), 0);
    assert_int_equal(symlink(scratch("one"), scratch("links/two")), 0);
    arrives(scratch("links/two"), scratch("links/file"));
    assert_int_equal(lstat(scratch("links/two"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(lstat(scratch("one"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    // to a new file in the link's own folder
    assert_int_equal(symlink("not-yet", scratch("links/to")), 0);
    arrives(scratch("links/to"), scratch("links/not-yet"));
    assert_int_equal(symlink("round", scratch("round")), 0);
    assert_int_equal(write_text(scratch("round"), "x"), MW_EXIT_INPUT);
    assert_line(err.text, "round: cannot write: Too many levels of symbolic links");
}

/// A name of `fd` in this process.
static const char *name_of(const char *format, int fd)
{
    static char name[64];
    snprintf(name, sizeof name, format, fd);
    return name;
}

/// Every name of a descriptor, on a file and on a pipe. The earlier contents stay in front.
static void writes_to_descriptors(void **state)
{
    (void)state;
    static const char *const names[] = {"/proc/self/fd/%d", "/dev/fd/%d",
                                        "/proc/thread-self/fd/%d"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        int fd = open(scratch("there"), O_RDWR | O_CREAT | O_TRUNC, 0666), ends[2];
        char got[8] = "";
        assert_true(fd >= 0);
        assert_int_equal(write(fd, "before ", 7), 7);
        assert_int_equal(write_text(name_of(names[i], fd), "new"), MW_EXIT_OK);
        close(fd);
        assert_text(scratch("there"), "before new");
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write_text(name_of(names[i], ends[1]), "new"), MW_EXIT_OK);
        assert_int_equal(read(ends[0], got, sizeof got), 3);
        assert_string_equal(got, "new");
        // no process can write to the other end, or to a closed one
        assert_int_equal(write_text(name_of(names[i], ends[0]), "x"), MW_EXIT_INPUT);
        close(ends[0]);
        close(ends[1]);
        assert_int_equal(write_text(name_of(names[i], ends[1]), "x"), MW_EXIT_INPUT);
        assert_line(err.text, "cannot write");
    }
    unlink(scratch("there"));
}

/// After the output of the program itself, in this order.
static void writes_to_standard_output(void **state)
{
    (void)state;
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        if (!freopen(scratch("standard"), "w", stdout))
            _exit(9);
        printf("table ");
        _exit(write_text("/dev/stdout", "new"));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_text(scratch("standard"), "table new");
}

static void writes_to_pipes_and_devices(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(scratch("fifo"), 0666), 0);
    int fd = open(scratch("fifo"), O_RDONLY | O_NONBLOCK);
    assert_int_equal(write_text(scratch("fifo"), "new"), MW_EXIT_OK);
    char got[8] = "";
    assert_int_equal(read(fd, got, sizeof got), 3);
    close(fd);
    assert_int_equal(write_text("/dev/null", "x"), MW_EXIT_OK);
    assert_int_equal(write_text("/dev/full", "x"), MW_EXIT_FAILED);
    struct stat st;
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    unlink(scratch("fifo"));
}

/// Mode, owner and other names of an existing file. Only root can change an owner.
static void keeps_what_a_file_is(void **state)
{
    (void)state;
    struct stat before, st;
    const char *file = scratch("kept");
    write_file(file, "a longer text than the new one", 30);
    assert_int_equal(chmod(file, 0640), 0);
    if (geteuid() == 0)
        assert_int_equal(chown(file, 12345, 54321), 0);
    assert_int_equal(stat(file, &before), 0);
    unsigned n = files();
    arrives(file, file);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode, before.st_mode);
    assert_int_equal(st.st_uid, before.st_uid);
    assert_int_equal(st.st_gid, before.st_gid);
    assert_int_equal(link(file, scratch("other-name")), 0);
    assert_int_equal(write_text(file, "again"), MW_EXIT_OK);
    assert_text(scratch("other-name"), "again");
    assert_int_equal(files(), n + 1);
}

/// Two files of another user in a folder that accepts no new file. One may be written, the other
/// not.
static void writes_as_another_user(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("SKIPPED: only root can become somebody else\n");
        skip();
    }
    struct stat st;
    assert_int_equal(chmod(scratch("."), 0755), 0);
    const char *open_file = scratch("open/file"), *closed = scratch("open/closed");
    assert_int_equal(mkdir(scratch("open"), 0755), 0);
    write_file(open_file, "old", 3);
    write_file(closed, "old", 3);
    assert_int_equal(chmod(open_file, 0666), 0);
    assert_int_equal(chmod(closed, 0644), 0);
    fflush(NULL);
    for (unsigned sticky = 0; sticky < 2; sticky++) {
        pid_t child = fork();
        if (!child) {
            if (setgid(12345) || setuid(12345))
                _exit(9);
            int status =
                write_text(closed, "x") == MW_EXIT_INPUT && strstr(err.text, "Permission denied")
                    ? MW_EXIT_OK
                    : 8;
            _exit(status ? status : write_text(open_file, "new"));
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_text(open_file, "new");
        assert_text(closed, "old");
        assert_int_equal(stat(open_file, &st), 0);
        assert_int_equal(st.st_uid, 0);
        // a folder where a new file could be made, but not be given to root
        assert_int_equal(chmod(scratch("open"), 0777), 0);
        write_file(open_file, "old", 3);
    }
}

/// If the output cannot be written to its end, the file is unchanged and no other file remains.
static void leaves_no_half(void **state)
{
    (void)state;
    const char *file = scratch("whole");
    char large[4096];
    memset(large, 'x', sizeof large);
    write_file(file, "old", 3);
    unsigned n = files();
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        const struct rlimit few = {100, 100};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &few);
        int status = mw_output_write(file, large, sizeof large, &err);
        _exit(status == MW_EXIT_FAILED &&
                      mw_output_write(scratch("fresh"), large, sizeof large, &err) == status
                  ? 0
                  : 9);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_text(file, "old");
    assert_int_equal(files(), n);
}

static void refuses_what_is_no_file(void **state)
{
    (void)state;
    assert_int_equal(write_text(scratch("."), "x"), MW_EXIT_INPUT);
    assert_line(err.text, "Is a directory");
    assert_int_equal(write_text("/nowhere/at/all", "x"), MW_EXIT_INPUT);
    assert_line(err.text, "/nowhere/at/all: cannot write: No such file");
    char longest[2000];
    memset(longest, 'n', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_int_equal(write_text(longest, "x"), MW_EXIT_INPUT);
    assert_line(err.text, "too long");
    // as long as a name may be
    char name[256];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    arrives(scratch(name), scratch(name));
}

/// Two outputs of one command must not be one file, by any names.
static void recognizes_the_same_file(void **state)
{
    (void)state;
    write_file(scratch("a"), "", 0);
    assert_int_equal(symlink("a", scratch("link-to-a")), 0);
    assert_int_equal(symlink("new", scratch("link-to-new")), 0);
    assert_true(mw_output_same(scratch("a"), scratch("link-to-a")));
    assert_true(mw_output_same(scratch("./a"), scratch("a")));
    assert_true(mw_output_same(scratch("new"), scratch("link-to-new")));
    assert_false(mw_output_same(scratch("a"), scratch("new")));
    assert_false(mw_output_same(scratch("new"), scratch("other")));
    assert_false(mw_output_same("/dev/null", "/dev/stdout"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_links),
        cmocka_unit_test(writes_to_descriptors),
        cmocka_unit_test(writes_to_standard_output),
        cmocka_unit_test(writes_to_pipes_and_devices),
        cmocka_unit_test(keeps_what_a_file_is),
        cmocka_unit_test(writes_as_another_user),
        cmocka_unit_test(leaves_no_half),
        cmocka_unit_test(refuses_what_is_no_file),
        cmocka_unit_test(recognizes_the_same_file),
    };
    return cmocka_run_group_tests_name("output", tests, scratch_make, scratch_remove);
}
