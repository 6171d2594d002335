/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* The firmware as a process on this machine, for tests and for a look without a board.
 *
 *   firmware [--stdio] [--settings FILE] [--damaged]
 *
 * The console is a pty, whose name is the first line on stdout, or with --stdio stdin and
 * stdout. Settings live in FILE as they would in flash; without one they outlast a restart, but
 * not the process. --damaged: the image does not have the CRC it was linked with. SIGUSR1 is a
 * fault. It ends with the process that started it.
 */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "port.h"

#define IDLE_MS 100
#define PAGE_BYTES 2048
#define SETTINGS_BYTES (PORT_SETTINGS_PAGES * PAGE_BYTES)

const struct port_board port_board = {PORT_UNIT_NANOSECONDS, 1, 1000000000u, false};

static struct {
    char **arguments;
    pid_t parent;
    int in, out; /* of the console */
    bool is_pty;
    bool damaged;
    const char *settings_path; /* 0: none */
    int settings;              /* file */
    uint8_t *flash;
} host;

static volatile sig_atomic_t faulted;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- Console ------------------------------------------------------------------ */

static uint8_t received[4096], sent[4096];
static size_t received_count, received_at, sent_count;

static void flush(void)
{
    for (size_t done = 0; done < sent_count;) {
        const ssize_t count = write(host.out, sent + done, sent_count - done);
        if (count > 0) {
            done += (size_t)count;
        } else if (errno == EAGAIN) {
            poll(&(struct pollfd){host.out, POLLOUT, 0}, 1, IDLE_MS);
        } else if (errno != EINTR) {
            exit(0); /* nobody is at the other end any more */
        }
        if (getppid() != host.parent) {
            exit(0);
        }
    }
    sent_count = 0;
}

bool port_uart_poll(uint8_t *byte)
{
    if (received_at == received_count) {
        flush();
        const ssize_t count = read(host.in, received, sizeof received);
        if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
            exit(0);
        }
        received_at = 0;
        received_count = count < 0 ? 0 : (size_t)count;
    }
    if (received_at == received_count) {
        return false;
    }
    *byte = received[received_at++];
    return true;
}

void port_uart_write(uint8_t byte)
{
    if (sent_count == sizeof sent) {
        flush();
    }
    sent[sent_count++] = byte;
}

/* The two ends of a pty share one rate: who wants to know whether two sides are at the same one
 * stands between two of them. */
bool port_uart_set_baud(uint32_t baud)
{
    static const struct {
        uint32_t baud;
        speed_t speed;
    } known[] = {
        {9600, B9600},     {19200, B19200},   {38400, B38400},   {57600, B57600},
        {115200, B115200}, {230400, B230400}, {460800, B460800}, {921600, B921600},
    };
    struct termios mode;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].baud == baud) {
            flush();
            if (host.is_pty && tcgetattr(host.in, &mode) == 0) {
                cfsetispeed(&mode, known[i].speed);
                cfsetospeed(&mode, known[i].speed);
                tcsetattr(host.in, TCSANOW, &mode);
            }
            return true;
        }
    }
    return false;
}

void port_idle(void)
{
    poll(&(struct pollfd){host.in, POLLIN, 0}, 1, IDLE_MS);
    if (getppid() != host.parent) {
        exit(0);
    }
    if (faulted) {
        app_fault(&(struct port_fault){3, 0x8200, 0x40000000, 0xDEADBEEC, 0x1234, 0x5678, 0});
        port_restart();
    }
}

static void open_pty(void)
{
    struct termios mode;
    const int pty = posix_openpt(O_RDWR | O_NOCTTY);
    if (pty < 0 || grantpt(pty) || unlockpt(pty) || tcgetattr(pty, &mode)) {
        fail("pty");
    }
    mode.c_iflag = mode.c_oflag = mode.c_lflag = 0;
    mode.c_cflag = CS8 | CREAD | CLOCAL;
    mode.c_cc[VMIN] = 1;
    mode.c_cc[VTIME] = 0;
    /* Our own hand on the far end keeps the pty alive while others come and go. */
    if (tcsetattr(pty, TCSANOW, &mode) || open(ptsname(pty), O_RDWR | O_NOCTTY) < 0) {
        fail("pty");
    }
    printf("%s\n", ptsname(pty));
    fflush(stdout);
    host.in = host.out = pty;
}

/* ---- Time ---------------------------------------------------------------------- */

uint32_t port_counter(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
}

/* ---- Flash ---------------------------------------------------------------------- */

struct port_settings port_settings(int page)
{
    return (struct port_settings){host.flash + page * PAGE_BYTES, PAGE_BYTES};
}

bool port_settings_replace(int page, const uint8_t *bytes, size_t count)
{
    memset(host.flash + page * PAGE_BYTES, 0xFF, PAGE_BYTES);
    memcpy(host.flash + page * PAGE_BYTES, bytes, count);
    return msync(host.flash, SETTINGS_BYTES, MS_SYNC) == 0;
}

static void open_settings(void)
{
    if (host.settings_path) {
        host.settings = open(host.settings_path, O_RDWR | O_CREAT, 0666);
    } else {
        FILE *file = tmpfile();
        host.settings = file ? fileno(file) : -1;
    }
    if (host.settings < 0) {
        fail("settings");
    }
}

static void map_settings(void)
{
    const off_t before = lseek(host.settings, 0, SEEK_END);
    if (before < 0 || ftruncate(host.settings, SETTINGS_BYTES)) {
        fail("settings");
    }
    host.flash = mmap(0, SETTINGS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, host.settings, 0);
    if (host.flash == MAP_FAILED) {
        fail("settings");
    }
    if (before == 0) {
        memset(host.flash, 0xFF, SETTINGS_BYTES);
    }
}

/* A stand-in with a CRC that everybody knows: what runs here was linked by others. */
struct port_image port_image(void)
{
    static const uint8_t table[] = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
    return (struct port_image){table, sizeof table, host.damaged ? 0 : 0xCBF43926u};
}

/* ---- Start ---------------------------------------------------------------------- */

static void on_signal(int number)
{
    faulted = number;
}

_Noreturn void port_restart(void)
{
    char kept[32];
    flush();
    /* The new program finds the console and the settings where they are. */
    snprintf(kept, sizeof kept, "%d %d", host.in, host.settings);
    setenv("SNAP_HOST_KEPT", kept, 1);
    execvp(host.arguments[0], host.arguments);
    perror("restart");
    exit(1);
}

void port_init(void)
{
    const char *kept = getenv("SNAP_HOST_KEPT");
    if (kept && sscanf(kept, "%d %d", &host.in, &host.settings) == 2) {
        host.out = host.is_pty ? host.in : host.out;
    } else {
        if (host.is_pty) {
            open_pty();
        }
        open_settings();
        fcntl(host.in, F_SETFL, fcntl(host.in, F_GETFL) | O_NONBLOCK);
    }
    port_uart_set_baud(115200);
    map_settings();
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal}, 0);
}

/* The application's main() takes no arguments: they are read before it. */
__attribute__((constructor)) static void read_arguments(int count, char **arguments)
{
    host.arguments = arguments;
    host.parent = getppid();
    host.in = STDIN_FILENO;
    host.out = STDOUT_FILENO;
    host.is_pty = true;
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--stdio") == 0) {
            host.is_pty = false;
        } else if (strcmp(arguments[i], "--damaged") == 0) {
            host.damaged = true;
        } else if (strcmp(arguments[i], "--settings") == 0 && i + 1 < count) {
            host.settings_path = arguments[++i];
        } else {
            fprintf(stderr, "usage: %s [--stdio] [--settings FILE] [--damaged]\n", arguments[0]);
            exit(2);
        }
    }
}
