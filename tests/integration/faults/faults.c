/* Makes the disk fail on demand. Loaded into the daemon with LD_PRELOAD.
 *
 * The file named by ANSWERBACK_TEST_FAULTS says what happens to the files of the store (asks.db and its side files) from now on:
 * `sync ERRNO MILLISECONDS always` or `write ERRNO MILLISECONDS always`: each such call takes so long and then fails. With `once`
 * instead, the file is removed by the first call that fails. An empty file, or none: everything works.
 * ANSWERBACK_TEST_SYNCS names a file that gets one line for each sync: `file PATH`, or `dir PATH NAME NAME ...` with what is in the
 * directory at that moment.
 * ANSWERBACK_TEST_CLOCK is a number of seconds by which the wall clock is ahead. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* The path of an open file; 0 if it has none. */
static int path_of(int fd, char path[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return 1;
}

static int is_store(int fd) {
    char path[PATH_MAX];
    return path_of(fd, path) && strstr(path, "asks.db") != NULL;
}

static void note_sync(int fd) {
    const char *syncs = getenv("ANSWERBACK_TEST_SYNCS");
    char path[PATH_MAX];
    struct stat found;
    if (syncs == NULL || fstat(fd, &found) != 0 || !path_of(fd, path)) return;
    FILE *file = fopen(syncs, "ae");
    if (file == NULL) return;
    fprintf(file, "%s %s", S_ISDIR(found.st_mode) ? "dir" : "file", path);
    DIR *dir = S_ISDIR(found.st_mode) ? opendir(path) : NULL;
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) fprintf(file, " %s", entry->d_name);
    if (dir != NULL) closedir(dir);
    fprintf(file, "\n");
    fclose(file);
}

/* Whether this call fails now; errno is set then. */
static int fails(const char *call, int fd) {
    const char *control = getenv("ANSWERBACK_TEST_FAULTS");
    if (control == NULL || !is_store(fd)) return 0;
    FILE *file = fopen(control, "re");
    if (file == NULL) return 0;
    char name[16], times[16];
    int code, milliseconds, failed = 0;
    if (fscanf(file, "%15s %d %d %15s", name, &code, &milliseconds, times) == 4 && strcmp(name, call) == 0) {
        usleep((useconds_t)milliseconds * 1000);
        failed = code;
        if (strcmp(times, "once") == 0) unlink(control);
    }
    fclose(file);
    errno = failed;
    return failed != 0;
}

int fsync(int fd) {
    note_sync(fd);
    if (fails("sync", fd)) return -1;
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    return real(fd);
}

int fdatasync(int fd) {
    if (fails("sync", fd)) return -1;
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    return real(fd);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
    if (fails("write", fd)) return -1;
    ssize_t (*real)(int, const void *, size_t, off64_t) =
        (ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
    return real(fd, bytes, count, offset);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (real == NULL) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    const char *ahead = getenv("ANSWERBACK_TEST_CLOCK");
    if (ahead != NULL && clock == CLOCK_REALTIME) time->tv_sec += atol(ahead);
    return result;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    return pwrite64(fd, bytes, count, offset);
}
