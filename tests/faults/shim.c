/* Faults of a disk, for what is loaded with it (LD_PRELOAD) and every process it starts.
 *
 * Counts the operations that change files under FAULTS_ROOT, across processes, in the file FAULTS_STATE, and writes to
 * FAULTS_LOG what each was. At the n-th (FAULTS_AT) it does what FAULTS_KIND says: `eio` fails it; `full` fails it and
 * all that need room after it; `short` writes half; `crash` ends the process group as kill -9 does, before it is done.
 * What was not synchronised when a crash came is taken away by who reads the log: see faults.py.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct state {
    long count; /* operations so far */
    long full;  /* the disk is */
};

static struct state *state;
static int log_fd = -1;
static long at;
static char kind;
static char root[PATH_MAX];
static size_t root_length;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) void faults_begin(void)
{
    const char *where = getenv("FAULTS_ROOT"), *file = getenv("FAULTS_STATE"), *log = getenv("FAULTS_LOG");
    if (!where || !file || !log)
        return;
    snprintf(root, sizeof root, "%s/", where);
    root_length = strlen(root);
    at = atol(getenv("FAULTS_AT") ?: "0");
    kind = (getenv("FAULTS_KIND") ?: "-")[0];
    int fd = syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *state) != 0)
        abort();
    state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (state == MAP_FAILED)
        abort();
    close(fd);
    log_fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    /* out of the way of who closes or counts descriptors */
    int high = syscall(SYS_fcntl, log_fd, F_DUPFD_CLOEXEC, 900);
    if (high >= 0) {
        syscall(SYS_close, log_fd);
        log_fd = high;
    }
}

static int under(const char *path)
{
    return strncmp(path, root, root_length) == 0;
}

/* Whether a name, as a call at a folder has it, is under the root; its absolute form is put into `whole`. */
static int named(int dir, const char *path, char whole[PATH_MAX])
{
    char folder[PATH_MAX] = "";
    if (!state || !path)
        return 0;
    if (path[0] == '/') {
        snprintf(whole, PATH_MAX, "%s", path);
        return under(whole);
    }
    if (dir == AT_FDCWD) {
        if (!getcwd(folder, sizeof folder))
            return 0;
    } else {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        ssize_t length = readlink(link, folder, sizeof folder - 1);
        if (length < 0)
            return 0;
        folder[length] = 0;
    }
    if (snprintf(whole, PATH_MAX, "%s/%s", folder, path) >= PATH_MAX)
        return 0;
    return under(whole);
}

static int opened(int fd, char whole[PATH_MAX])
{
    char link[64];
    if (!state || fd < 0)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, whole, PATH_MAX - 1);
    if (length < 0)
        return 0;
    whole[length] = 0;
    return under(whole);
}

static void say(const char *what, const char *path, long number, int fd)
{
    char line[PATH_MAX + 200];
    struct stat it = {0};
    if (fd >= 0)
        fstat(fd, &it);
    int length = snprintf(line, sizeof line, "%ld %s %lu %ld %s\n", number, what, (unsigned long)it.st_ino,
                          (long)it.st_size, path + (under(path) ? root_length : 0));
    syscall(SYS_write, log_fd, line, length);
}

enum { GO, FAIL, HALF };

/* Count an operation and say what becomes of it; `needs` is whether it needs room. */
static int turn(const char *what, const char *path, int fd, int needs)
{
    long number = __atomic_add_fetch(&state->count, 1, __ATOMIC_SEQ_CST);
    if (number == at && kind == 'c') {
        say("crash", path, number, -1);
        syscall(SYS_kill, 0, SIGKILL);
        for (;;)
            pause();
    }
    say(what, path, number, fd);
    if (number == at) {
        if (kind == 's')
            return needs == 2 ? HALF : GO;
        if (kind == 'f') /* full from now on */
            __atomic_store_n(&state->full, 1, __ATOMIC_SEQ_CST);
        if (kind == 'e') {
            errno = EIO;
            return FAIL;
        }
    }
    if (needs && __atomic_load_n(&state->full, __ATOMIC_SEQ_CST)) {
        errno = ENOSPC;
        return FAIL;
    }
    return GO;
}

static int opening(int (*real)(int, const char *, int, ...), int dir, const char *path, int flags, mode_t mode)
{
    char whole[PATH_MAX];
    int changes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC));
    if (changes && named(dir, path, whole) && turn("open", whole, -1, flags & O_CREAT ? 1 : 0) == FAIL)
        return -1;
    return real(dir, path, flags, mode);
}

static mode_t mode_of(int flags, va_list more)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
}

#define OPENED(dir)                                                                                                    \
    va_list more;                                                                                                      \
    va_start(more, flags);                                                                                             \
    mode_t mode = mode_of(flags, more);                                                                                \
    va_end(more);                                                                                                      \
    return opening(REAL(openat64), dir, path, flags, mode)

int open(const char *path, int flags, ...) { OPENED(AT_FDCWD); }
int open64(const char *path, int flags, ...) { OPENED(AT_FDCWD); }
int openat(int dir, const char *path, int flags, ...) { OPENED(dir); }
int openat64(int dir, const char *path, int flags, ...) { OPENED(dir); }

#define WRITE(call, half)                                                                                              \
    char whole[PATH_MAX];                                                                                              \
    if (!opened(fd, whole))                                                                                            \
        return call;                                                                                                   \
    switch (turn("write", whole, fd, 2)) {                                                                             \
    case FAIL:                                                                                                         \
        return -1;                                                                                                     \
    case HALF:                                                                                                         \
        return half;                                                                                                   \
    default:                                                                                                           \
        return call;                                                                                                   \
    }

ssize_t write(int fd, const void *data, size_t size)
{
    WRITE(REAL(write)(fd, data, size), REAL(write)(fd, data, (size + 1) / 2))
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t from)
{
    WRITE(REAL(pwrite)(fd, data, size, from), REAL(pwrite)(fd, data, (size + 1) / 2, from))
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t from)
{
    WRITE(REAL(pwrite64)(fd, data, size, from), REAL(pwrite64)(fd, data, (size + 1) / 2, from))
}
ssize_t writev(int fd, const struct iovec *parts, int number)
{
    WRITE(REAL(writev)(fd, parts, number), REAL(write)(fd, parts[0].iov_base, (parts[0].iov_len + 1) / 2))
}

#define ON_FILE(what, needs, call)                                                                                     \
    char whole[PATH_MAX];                                                                                              \
    if (opened(fd, whole) && turn(what, whole, fd, needs) == FAIL)                                                     \
        return -1;                                                                                                     \
    return call

int ftruncate(int fd, off_t size) { ON_FILE("truncate", 0, REAL(ftruncate)(fd, size)); }
int ftruncate64(int fd, off64_t size) { ON_FILE("truncate", 0, REAL(ftruncate64)(fd, size)); }
int fallocate64(int fd, int mode, off64_t from, off64_t size) { ON_FILE("allocate", 1, REAL(fallocate64)(fd, mode, from, size)); }
int fsync(int fd) { ON_FILE("sync", 0, REAL(fsync)(fd)); }
int fdatasync(int fd) { ON_FILE("sync", 0, REAL(fdatasync)(fd)); }

#define ON_NAME(what, needs, dir, path, call)                                                                          \
    char whole[PATH_MAX];                                                                                              \
    if (named(dir, path, whole) && turn(what, whole, -1, needs) == FAIL)                                               \
        return -1;                                                                                                     \
    return call

int rename(const char *from, const char *to) { ON_NAME("rename", 0, AT_FDCWD, to, REAL(rename)(from, to)); }
int renameat(int a, const char *from, int b, const char *to) { ON_NAME("rename", 0, b, to, REAL(renameat)(a, from, b, to)); }
int link(const char *from, const char *to) { ON_NAME("link", 1, AT_FDCWD, to, REAL(link)(from, to)); }
int linkat(int a, const char *from, int b, const char *to, int flags) { ON_NAME("link", 1, b, to, REAL(linkat)(a, from, b, to, flags)); }
int unlink(const char *path) { ON_NAME("unlink", 0, AT_FDCWD, path, REAL(unlink)(path)); }
int unlinkat(int dir, const char *path, int flags) { ON_NAME("unlink", 0, dir, path, REAL(unlinkat)(dir, path, flags)); }
int rmdir(const char *path) { ON_NAME("rmdir", 0, AT_FDCWD, path, REAL(rmdir)(path)); }
int mkdir(const char *path, mode_t mode) { ON_NAME("mkdir", 1, AT_FDCWD, path, REAL(mkdir)(path, mode)); }
int mkdirat(int dir, const char *path, mode_t mode) { ON_NAME("mkdir", 1, dir, path, REAL(mkdirat)(dir, path, mode)); }
