/* Records, in order, what a process does to the files below one folder. It is loaded in front of the C library
 * (LD_PRELOAD); tests/README.md, "Loss of power", says what the record is for.
 *
 *   POWERCUT_FOLDER   the folder: absolute, without symbolic links
 *   POWERCUT_LOG      where the record goes. What the process itself writes to this path becomes a mark in it.
 *   POWERCUT_IGNORE   "syncs": fsync and fdatasync do nothing; "files", "folders": only those of files, of folders
 *
 * A step is a header and two texts; log.rs reads it. A call that the model of the volume does not know becomes a step
 * of kind UNSEEN, which fails the test. Shared writable mappings are not seen: SQLite has one, its -shm file, which it
 * makes anew after a loss of power. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { CREATE = 1, WRITE, LENGTH, SYNC, SYNC_FOLDER, RENAME, UNLINK, MKDIR, RMDIR, LINK, MARK, UNSEEN };
enum what { OTHER, A_FILE, A_FOLDER, MARKS };
enum { NOTHING, FILES = 1, FOLDERS = 2 };

struct header {
    uint32_t kind, first, second, zero;
    uint64_t file, place;
};

/* What a descriptor is; those beyond the table are not ours. */
static unsigned char descriptors[1 << 16];
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX], log_path[PATH_MAX];
static size_t root_length;
static int log_file = -1;
static int ignored = NOTHING;

#define REAL(name)                                                                                                     \
    ({                                                                                                                 \
        static __typeof__(&name) found;                                                                                \
        if (!found) found = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                                \
        found;                                                                                                         \
    })

__attribute__((constructor)) static void begin(void) {
    const char *folder = getenv("POWERCUT_FOLDER"), *log = getenv("POWERCUT_LOG"), *ignore = getenv("POWERCUT_IGNORE");
    if (!folder || !log) return;
    snprintf(root, sizeof root, "%s", folder);
    snprintf(log_path, sizeof log_path, "%s", log);
    root_length = strlen(root);
    if (ignore && strcmp(ignore, "folders") != 0) ignored |= FILES;
    if (ignore && strcmp(ignore, "files") != 0) ignored |= FOLDERS;
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    log_file = REAL(openat64)(AT_FDCWD, log_path, flags, 0600);
    if (log_file < 0) abort();
}

static int kind_of(int fd) {
    return fd >= 0 && fd < (int)sizeof descriptors ? descriptors[fd] : OTHER;
}

static void is_now(int fd, int kind) {
    if (fd >= 0 && fd < (int)sizeof descriptors) descriptors[fd] = kind;
}

/* A record that cannot be written is worth nothing. */
static void step(int kind, uint64_t file, uint64_t place, const void *first, size_t first_size, const void *second,
                 size_t second_size) {
    struct header header = {kind, first_size, second_size, 0, file, place};
    struct iovec parts[] = {
        {&header, sizeof header}, {(void *)first, first_size}, {(void *)second, second_size}};
    ssize_t whole = sizeof header + first_size + second_size;
    if (REAL(writev)(log_file, parts, 3) != whole) abort();
}

static void named(int kind, uint64_t file, const char *path) {
    step(kind, file, 0, path, strlen(path), "", 0);
}

static void unseen(const char *call) {
    named(UNSEEN, 0, call);
}

/* The path below the folder, "" for itself; NULL: it is elsewhere. */
static const char *below(int at, const char *path, char *room) {
    if (log_file < 0) return NULL;
    char folder[PATH_MAX] = "", link[64];
    if (path[0] != '/' && at == AT_FDCWD && !getcwd(folder, sizeof folder)) return NULL;
    if (path[0] != '/' && at != AT_FDCWD) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", at);
        ssize_t length = readlink(link, folder, sizeof folder - 1);
        if (length < 0) return NULL;
        folder[length] = 0;
    }
    int length = path[0] == '/'   ? snprintf(room, PATH_MAX, "%s", path)
                 : path[0] == 0   ? snprintf(room, PATH_MAX, "%s", folder)
                                  : snprintf(room, PATH_MAX, "%s/%s", folder, path);
    if (length < 0 || length >= PATH_MAX || strncmp(room, root, root_length) != 0) return NULL;
    if (room[root_length] == 0) return room + root_length;
    return room[root_length] == '/' ? room + root_length + 1 : NULL;
}

static uint64_t file_of(int fd) {
    struct stat about;
    return fstat(fd, &about) == 0 ? about.st_ino : 0;
}

static int take(int at, const char *path, int flags, mode_t mode) {
    char room[PATH_MAX];
    if (log_file >= 0 && strcmp(path, log_path) == 0) {
        int fd = REAL(openat64)(AT_FDCWD, "/dev/null", O_WRONLY | O_CLOEXEC, 0);
        is_now(fd, MARKS);
        return fd;
    }
    const char *name = below(at, path, room);
    if (!name) {
        int fd = REAL(openat64)(at, path, flags, mode);
        is_now(fd, OTHER);
        return fd;
    }
    pthread_mutex_lock(&order);
    struct stat before, after;
    int there = fstatat(at, path, &before, 0) == 0;
    int fd = REAL(openat64)(at, path, flags, mode);
    int error = errno;
    if (fd >= 0 && fstat(fd, &after) == 0) {
        is_now(fd, S_ISDIR(after.st_mode) ? A_FOLDER : S_ISREG(after.st_mode) ? A_FILE : OTHER);
        if ((flags & O_TMPFILE) == O_TMPFILE || (flags & (O_SYNC | O_DSYNC))) unseen("open with O_TMPFILE or O_SYNC");
        if (S_ISREG(after.st_mode) && !there) named(CREATE, after.st_ino, name);
        if (S_ISREG(after.st_mode) && there && before.st_size != after.st_size) step(LENGTH, after.st_ino, 0, "", 0, "", 0);
    }
    pthread_mutex_unlock(&order);
    errno = error;
    return fd;
}

#define MODE(flags)                                                                                                    \
    ({                                                                                                                 \
        mode_t mode = 0;                                                                                               \
        if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                         \
            va_list rest;                                                                                              \
            va_start(rest, flags);                                                                                     \
            mode = va_arg(rest, mode_t);                                                                               \
            va_end(rest);                                                                                              \
        }                                                                                                              \
        mode;                                                                                                          \
    })

int open(const char *path, int flags, ...) { return take(AT_FDCWD, path, flags, MODE(flags)); }
int open64(const char *path, int flags, ...) { return take(AT_FDCWD, path, flags, MODE(flags)); }
int openat(int at, const char *path, int flags, ...) { return take(at, path, flags, MODE(flags)); }
int openat64(int at, const char *path, int flags, ...) { return take(at, path, flags, MODE(flags)); }
int creat(const char *path, mode_t mode) { return take(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return take(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode); }

int close(int fd) {
    is_now(fd, OTHER);
    return REAL(close)(fd);
}

static int copied(int from, int to) {
    is_now(to, kind_of(from));
    return to;
}

int dup(int fd) { return copied(fd, REAL(dup)(fd)); }
int dup2(int fd, int to) { return copied(fd, REAL(dup2)(fd, to)); }
int dup3(int fd, int to, int flags) { return copied(fd, REAL(dup3)(fd, to, flags)); }

#define FCNTL(name)                                                                                                    \
    int name(int fd, int command, ...) {                                                                               \
        va_list rest;                                                                                                  \
        va_start(rest, command);                                                                                       \
        void *argument = va_arg(rest, void *);                                                                         \
        va_end(rest);                                                                                                  \
        int result = REAL(name)(fd, command, argument);                                                                \
        return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? copied(fd, result) : result;                         \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

/* `at` < 0: where the descriptor stands. */
static ssize_t put(int fd, const struct iovec *parts, int count, off64_t at) {
    int kind = kind_of(fd);
    if (kind != A_FILE && kind != MARKS)
        return at < 0 ? REAL(writev)(fd, parts, count) : REAL(pwritev64)(fd, parts, count, at);
    pthread_mutex_lock(&order);
    off64_t place = at;
    struct stat about;
    if (at < 0) place = lseek64(fd, 0, SEEK_CUR);
    if (at < 0 && (REAL(fcntl)(fd, F_GETFL) & O_APPEND) && fstat(fd, &about) == 0) place = about.st_size;
    ssize_t written = at < 0 ? REAL(writev)(fd, parts, count) : REAL(pwritev64)(fd, parts, count, at);
    int error = errno;
    ssize_t left = written;
    for (int n = 0; n < count && left > 0; n++) {
        size_t length = parts[n].iov_len < (size_t)left ? parts[n].iov_len : (size_t)left;
        if (kind == MARKS) step(MARK, 0, 0, parts[n].iov_base, length, "", 0);
        else step(WRITE, file_of(fd), place, parts[n].iov_base, length, "", 0);
        place += length;
        left -= length;
    }
    pthread_mutex_unlock(&order);
    errno = error;
    return written;
}

static ssize_t put_one(int fd, const void *data, size_t length, off64_t at) {
    struct iovec part = {(void *)data, length};
    return put(fd, &part, 1, at);
}

ssize_t write(int fd, const void *data, size_t length) { return put_one(fd, data, length, -1); }
ssize_t pwrite(int fd, const void *data, size_t length, off_t at) { return put_one(fd, data, length, at); }
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t at) { return put_one(fd, data, length, at); }
ssize_t writev(int fd, const struct iovec *parts, int count) { return put(fd, parts, count, -1); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) { return put(fd, parts, count, at); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) { return put(fd, parts, count, at); }

/* Without these, callers copy by reading and writing. */
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t length, unsigned flags) {
    if (kind_of(out) == OTHER) return REAL(copy_file_range)(in, from, out, to, length, flags);
    errno = ENOSYS;
    return -1;
}
ssize_t sendfile(int out, int in, off_t *from, size_t length) {
    if (kind_of(out) == OTHER) return REAL(sendfile)(out, in, from, length);
    errno = ENOSYS;
    return -1;
}
ssize_t sendfile64(int out, int in, off64_t *from, size_t length) {
    if (kind_of(out) == OTHER) return REAL(sendfile64)(out, in, from, length);
    errno = ENOSYS;
    return -1;
}

/* Whatever changed the length: what it is now. */
static int resized(int fd, int result) {
    struct stat about;
    if (result == 0 && kind_of(fd) == A_FILE && fstat(fd, &about) == 0)
        step(LENGTH, about.st_ino, about.st_size, "", 0, "", 0);
    return result;
}

#define RESIZE(fd, call)                                                                                               \
    ({                                                                                                                 \
        pthread_mutex_lock(&order);                                                                                    \
        int result = resized(fd, call);                                                                                \
        pthread_mutex_unlock(&order);                                                                                  \
        result;                                                                                                        \
    })

int ftruncate(int fd, off_t length) { return RESIZE(fd, REAL(ftruncate)(fd, length)); }
int ftruncate64(int fd, off64_t length) { return RESIZE(fd, REAL(ftruncate64)(fd, length)); }
int posix_fallocate(int fd, off_t at, off_t length) { return RESIZE(fd, REAL(posix_fallocate)(fd, at, length)); }
int posix_fallocate64(int fd, off64_t at, off64_t length) {
    return RESIZE(fd, REAL(posix_fallocate64)(fd, at, length));
}
int fallocate(int fd, int mode, off_t at, off_t length) {
    if (mode != 0 && kind_of(fd) == A_FILE) unseen("fallocate");
    return RESIZE(fd, REAL(fallocate)(fd, mode, at, length));
}
int fallocate64(int fd, int mode, off64_t at, off64_t length) {
    if (mode != 0 && kind_of(fd) == A_FILE) unseen("fallocate64");
    return RESIZE(fd, REAL(fallocate64)(fd, mode, at, length));
}
int truncate(const char *path, off_t length) {
    char room[PATH_MAX];
    if (below(AT_FDCWD, path, room)) unseen("truncate");
    return REAL(truncate)(path, length);
}
int truncate64(const char *path, off64_t length) {
    char room[PATH_MAX];
    if (below(AT_FDCWD, path, room)) unseen("truncate64");
    return REAL(truncate64)(path, length);
}

static int synced(int fd, int (*sync)(int)) {
    int kind = kind_of(fd);
    if (kind != A_FILE && kind != A_FOLDER) return sync(fd);
    if (ignored & (kind == A_FOLDER ? FOLDERS : FILES)) return 0;
    char room[PATH_MAX];
    pthread_mutex_lock(&order);
    int result = sync(fd);
    if (result == 0 && kind == A_FILE) step(SYNC, file_of(fd), 0, "", 0, "", 0);
    const char *name = kind == A_FOLDER ? below(fd, "", room) : NULL;
    if (result == 0 && name) named(SYNC_FOLDER, 0, name);
    pthread_mutex_unlock(&order);
    return result;
}

int fsync(int fd) { return synced(fd, REAL(fsync)); }
int fdatasync(int fd) { return synced(fd, REAL(fdatasync)); }

static int moved(int from_at, const char *from, int to_at, const char *to, unsigned flags) {
    char from_room[PATH_MAX], to_room[PATH_MAX];
    const char *old = below(from_at, from, from_room), *new = below(to_at, to, to_room);
    pthread_mutex_lock(&order);
    int result = REAL(renameat2)(from_at, from, to_at, to, flags);
    int error = errno;
    if (result == 0 && (!old != !new || (old && (flags & ~RENAME_NOREPLACE)))) unseen("rename");
    else if (result == 0 && old) step(RENAME, 0, 0, old, strlen(old), new, strlen(new));
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}

int rename(const char *from, const char *to) { return moved(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int from_at, const char *from, int to_at, const char *to) { return moved(from_at, from, to_at, to, 0); }
int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags) {
    return moved(from_at, from, to_at, to, flags);
}

static int removed(int at, const char *path, int flags) {
    char room[PATH_MAX];
    const char *name = below(at, path, room);
    pthread_mutex_lock(&order);
    int result = REAL(unlinkat)(at, path, flags);
    int error = errno;
    if (result == 0 && name) named(flags & AT_REMOVEDIR ? RMDIR : UNLINK, 0, name);
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}

int unlink(const char *path) { return removed(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return removed(AT_FDCWD, path, AT_REMOVEDIR); }
int unlinkat(int at, const char *path, int flags) { return removed(at, path, flags); }

static int made(int at, const char *path, mode_t mode) {
    char room[PATH_MAX];
    const char *name = below(at, path, room);
    pthread_mutex_lock(&order);
    int result = REAL(mkdirat)(at, path, mode);
    int error = errno;
    if (result == 0 && name) named(MKDIR, 0, name);
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}

int mkdir(const char *path, mode_t mode) { return made(AT_FDCWD, path, mode); }
int mkdirat(int at, const char *path, mode_t mode) { return made(at, path, mode); }

static int linked(int from_at, const char *from, int to_at, const char *to, int flags) {
    char from_room[PATH_MAX], to_room[PATH_MAX];
    const char *old = below(from_at, from, from_room), *new = below(to_at, to, to_room);
    pthread_mutex_lock(&order);
    int result = REAL(linkat)(from_at, from, to_at, to, flags);
    int error = errno;
    if (result == 0 && !old != !new) unseen("link");
    else if (result == 0 && old) step(LINK, 0, 0, old, strlen(old), new, strlen(new));
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}

int link(const char *from, const char *to) { return linked(AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int from_at, const char *from, int to_at, const char *to, int flags) {
    return linked(from_at, from, to_at, to, flags);
}
int symlink(const char *to, const char *path) {
    char room[PATH_MAX];
    if (below(AT_FDCWD, path, room)) unseen("symlink");
    return REAL(symlink)(to, path);
}
int symlinkat(const char *to, int at, const char *path) {
    char room[PATH_MAX];
    if (below(at, path, room)) unseen("symlinkat");
    return REAL(symlinkat)(to, at, path);
}
