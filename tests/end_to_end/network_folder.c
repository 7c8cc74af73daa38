/* What a program sees of a folder on a network file system, for LD_PRELOAD; see odd_hosts.py.

   Below NET_FOLDER: no hard links and no files without names; names that others have made, and attributes that they
   have changed, are seen NET_DELAY seconds late; a file that another has removed cannot be read any more (ESTALE);
   after NET_QUOTA bytes a process can write no more (EDQUOT). NET_HOST is the name of the host, NET_SKEW how many
   seconds its clock is ahead. Exclusive creation, renaming and opening ask the server, as NFS does. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define REAL(result, name, ...) \
    static result (*real)(__VA_ARGS__); \
    if (!real) real = dlsym(RTLD_NEXT, name)
#define SLOTS (1 << 16)

struct entry { unsigned long key; double until; int missing, known; struct stat64 found; };
static struct entry names[SLOTS];
static unsigned long own[SLOTS], listed[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static double number(const char *name) { const char *text = getenv(name); return text ? atof(text) : 0; }

static double now(void) {
    struct timespec time;
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    real(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static int inside(const char *path) {
    const char *folder = getenv("NET_FOLDER");
    return folder && path && !strncmp(path, folder, strlen(folder));
}

static unsigned long hash(const char *text, unsigned long value) {
    while (*text) value = value * 1099511628211UL ^ (unsigned char)*text++;
    return value | 1;
}

static struct entry *entry_of(const char *path) {
    unsigned long key = hash(path, 14695981039346656037UL);
    struct entry *found = &names[key % SLOTS];
    if (found->key != key) memset(found, 0, sizeof *found), found->key = key;
    return found;
}

/* Forget what is known of a name: this process has changed it. */
static void changed(const char *path) {
    if (!inside(path)) return;
    pthread_mutex_lock(&lock);
    struct entry *entry = entry_of(path);
    entry->missing = entry->known = 0;
    pthread_mutex_unlock(&lock);
}

/* Whether the client still believes that there is no such name. */
static int believed_missing(const char *path) {
    if (!inside(path)) return 0;
    pthread_mutex_lock(&lock);
    struct entry *entry = entry_of(path);
    int missing = entry->missing && now() < entry->until;
    pthread_mutex_unlock(&lock);
    if (missing) errno = ENOENT;
    return missing;
}

static void remember_missing(const char *path) {
    int error = errno;
    if (inside(path) && error == ENOENT) {
        pthread_mutex_lock(&lock);
        struct entry *entry = entry_of(path);
        if (!entry->missing || now() >= entry->until) entry->missing = 1, entry->until = now() + number("NET_DELAY");
        entry->known = 0;
        pthread_mutex_unlock(&lock);
    }
    errno = error;
}

static void mark(unsigned long *set, unsigned long key) { set[key % SLOTS] = key; }
static int marked(unsigned long *set, unsigned long key) { return set[key % SLOTS] == key; }

static unsigned long inode(int folder, const char *path) {
    struct stat64 found;
    REAL(int, "fstatat64", int, const char *, struct stat64 *, int);
    return real(folder, path, &found, AT_SYMLINK_NOFOLLOW) ? 0 : found.st_ino;
}

static void mine(int folder, const char *path) {
    unsigned long found = inode(folder, path);
    if (found) mark(own, found);
}

static int seen_stat(const char *name, int (*ask)(const char *, struct stat64 *), const char *path, struct stat64 *to) {
    if (!inside(path)) return ask(path, to);
    if (believed_missing(path)) return -1;
    pthread_mutex_lock(&lock);
    struct entry *entry = entry_of(path);
    int known = entry->known && now() < entry->until;
    if (known) *to = entry->found;
    pthread_mutex_unlock(&lock);
    if (known) return 0;
    int failed = ask(path, to);
    if (failed) return remember_missing(path), failed;
    pthread_mutex_lock(&lock);
    entry = entry_of(path);
    entry->missing = 0, entry->known = 1, entry->found = *to, entry->until = now() + number("NET_DELAY");
    pthread_mutex_unlock(&lock);
    (void)name;
    return 0;
}

int stat64(const char *path, struct stat64 *to) {
    REAL(int, "stat64", const char *, struct stat64 *);
    return seen_stat("stat64", real, path, to);
}
int lstat64(const char *path, struct stat64 *to) {
    REAL(int, "lstat64", const char *, struct stat64 *);
    return seen_stat("lstat64", real, path, to);
}

static int open_at(int (*real)(int, const char *, int, ...), int folder, const char *path, int flags, int mode) {
    if (!inside(path)) return real(folder, path, flags, mode);
    if ((flags & O_TMPFILE) == O_TMPFILE) return errno = EOPNOTSUPP, -1;
    if (!(flags & O_CREAT) && believed_missing(path)) return -1;
    int there = (flags & O_CREAT) && inode(folder, path) != 0, found = real(folder, path, flags, mode);
    if (found < 0) return remember_missing(path), found;
    changed(path); /* opening asks the server */
    if ((flags & O_CREAT) && !there) mine(folder, path);
    return found;
}
int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int mode = va_arg(more, int);
    va_end(more);
    REAL(int, "openat64", int, const char *, int, ...);
    return open_at(real, AT_FDCWD, path, flags, mode);
}
int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int mode = va_arg(more, int);
    va_end(more);
    return open64(path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int mode = va_arg(more, int);
    va_end(more);
    REAL(int, "openat64", int, const char *, int, ...);
    return open_at(real, folder, path, flags, mode);
}

int mkdir(const char *path, mode_t mode) {
    REAL(int, "mkdir", const char *, mode_t);
    int failed = real(path, mode);
    if (inside(path) && !failed) changed(path), mine(AT_FDCWD, path);
    return failed;
}
int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    if (inside(to)) mine(AT_FDCWD, to); /* who replaces a file that it has open keeps it */
    int failed = real(from, to);
    changed(from), changed(to);
    if (inside(to) && !failed) mine(AT_FDCWD, to);
    return failed;
}
int link(const char *from, const char *to) {
    REAL(int, "link", const char *, const char *);
    return inside(to) ? (errno = EPERM, -1) : real(from, to);
}
int linkat(int from_folder, const char *from, int folder, const char *to, int flags) {
    REAL(int, "linkat", int, const char *, int, const char *, int);
    return inside(to) ? (errno = EPERM, -1) : real(from_folder, from, folder, to, flags);
}
int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    if (inside(path)) mine(AT_FDCWD, path);
    int failed = real(path);
    changed(path);
    return failed;
}
int unlinkat(int folder, const char *path, int flags) {
    REAL(int, "unlinkat", int, const char *, int);
    mine(folder, path);
    int failed = real(folder, path, flags);
    changed(path);
    return failed;
}
int utimensat(int folder, const char *path, const struct timespec times[2], int flags) {
    REAL(int, "utimensat", int, const char *, const struct timespec *, int);
    changed(path);
    return real(folder, path, times, flags);
}

static int below(int file) {
    char name[64], path[4096];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    long length = readlink(name, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    return inside(path);
}
ssize_t read(int file, void *to, size_t size) {
    REAL(ssize_t, "read", int, void *, size_t);
    static int (*status)(int, struct stat64 *);
    if (!status) status = dlsym(RTLD_NEXT, "fstat64");
    struct stat64 found;
    if (getenv("NET_FOLDER") && !status(file, &found) && S_ISREG(found.st_mode) && !found.st_nlink &&
        !marked(own, found.st_ino) && below(file))
        return errno = ESTALE, -1;
    return real(file, to, size);
}
ssize_t write(int file, const void *from, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    static double written;
    double quota = number("NET_QUOTA");
    if (quota && below(file) && (written += size) > quota) return errno = EDQUOT, -1;
    return real(file, from, size);
}

/* A listing lacks what others have made less than a delay ago, unless it had it before. */
struct dirent64 *readdir64(DIR *folder) {
    REAL(struct dirent64 *, "readdir64", DIR *);
    static int (*status)(int, const char *, struct stat64 *, int);
    if (!status) status = dlsym(RTLD_NEXT, "fstatat64");
    struct dirent64 *found;
    while ((found = real(folder))) {
        struct stat64 state;
        if (!getenv("NET_FOLDER") || found->d_name[0] == '.' || !below(dirfd(folder))) return found;
        if (status(dirfd(folder), found->d_name, &state, AT_SYMLINK_NOFOLLOW)) continue;
        unsigned long key = hash(found->d_name, state.st_ino);
        struct timespec time;
        static int (*clock)(clockid_t, struct timespec *);
        if (!clock) clock = dlsym(RTLD_NEXT, "clock_gettime");
        clock(CLOCK_REALTIME, &time);
        double age = time.tv_sec - state.st_ctim.tv_sec + 1e-9 * (time.tv_nsec - state.st_ctim.tv_nsec);
        if (age < number("NET_DELAY") && !marked(own, state.st_ino) && !marked(listed, key)) continue;
        mark(listed, key);
        return found;
    }
    return found;
}

int gethostname(char *to, size_t size) {
    REAL(int, "gethostname", char *, size_t);
    const char *name = getenv("NET_HOST");
    return name ? (snprintf(to, size, "%s", name), 0) : real(to, size);
}
int clock_gettime(clockid_t clock, struct timespec *to) {
    REAL(int, "clock_gettime", clockid_t, struct timespec *);
    int failed = real(clock, to);
    if (clock == CLOCK_REALTIME) to->tv_sec += (time_t)number("NET_SKEW");
    return failed;
}
int gettimeofday(struct timeval *to, void *zone) {
    struct timespec found;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &found);
    to->tv_sec = found.tv_sec, to->tv_usec = found.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *to) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    if (to) *to = found.tv_sec;
    return found.tv_sec;
}
