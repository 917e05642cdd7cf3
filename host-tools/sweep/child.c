// SPDX-License-Identifier: Apache-2.0
//
// See child.h.
#include "sweep/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_STARTED = 127 };

/// Between fork and exec.
static void become(char *const *words, const char *folder, int said, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int nothing = open("/dev/null", O_RDWR);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0 ||
        dup2(said, STDERR_FILENO) < 0 || (folder && chdir(folder)))
        _exit(NOT_STARTED);
    // an orphan must not run on beside the program that the next sweep starts
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
        _exit(NOT_STARTED);
    execvp(words[0], words);
    dprintf(STDERR_FILENO, "%s: %s\n", words[0], strerror(errno));
    _exit(NOT_STARTED);
}

int mw_child_start(struct mw_child *child, char *const *words, const char *folder,
                   struct mw_error *err)
{
    pid_t parent = getpid();
    *child = (struct mw_child){.said = tmpfile()};
    if (!child->said)
        return mw_fail(err, MW_EXIT_FAILED, "no temporary file: %s", strerror(errno));
    fcntl(fileno(child->said), F_SETFD, FD_CLOEXEC);
    child->pid = fork();
    if (child->pid == 0)
        become(words, folder, fileno(child->said), parent);
    if (child->pid > 0)
        return MW_EXIT_OK;
    fclose(child->said);
    *child = (struct mw_child){0};
    return mw_fail(err, MW_EXIT_FAILED, "%s: cannot be started: %s", words[0], strerror(errno));
}

static int status_of(struct mw_child *child, int status)
{
    child->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool mw_child_ended(struct mw_child *child, int *status)
{
    int how;
    if (waitpid(child->pid, &how, WNOHANG) != child->pid)
        return false;
    *status = status_of(child, how);
    return true;
}

int mw_child_wait(struct mw_child *child)
{
    int how;
    pid_t got;
    do
        got = waitpid(child->pid, &how, 0);
    while (got < 0 && errno == EINTR);
    return status_of(child, how);
}

void mw_child_last_words(struct mw_child *child, char *line, size_t size)
{
    char *text = NULL;
    size_t room = 0;
    *line = 0;
    rewind(child->said);
    while (getline(&text, &room, child->said) > 0) {
        text[strcspn(text, "\r\n")] = 0;
        if (*text)
            snprintf(line, size, "%s", text);
    }
    free(text);
    fclose(child->said);
    child->said = NULL;
}
