/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "settings.h"

#include <string.h>

#include "inference.h"
#include "port.h"
#include "snap_model.h"
#include "snapuq.h"

#ifdef SNAP_MODEL_WITHOUT_HEADS

void app_settings_init(void)
{
}

const struct snap_model_settings *app_settings(void)
{
    return 0;
}

uint32_t app_settings_check(void)
{
    return 0;
}

uint32_t app_settings_own_check(void)
{
    return 0;
}

enum app_error app_settings_replace(uint8_t *block, uint32_t count)
{
    (void)block, (void)count;
    return APP_ERROR_SETTINGS;
}

#else

#define CHECKED_FROM 16 /* the fields in front of it speak of the block itself */

/* In a page it follows the block, and is written last: what has one was written whole. At a
 * multiple of 8 bytes, the most that a part writes at once. */
struct commit {
    uint32_t sequence; /* of two pages the one with the next number counts */
    uint32_t check;    /* CRC-32 of all in front of it */
};
#define COMMIT_AT ((sizeof(struct snap_model_settings) + 7u) / 8u * 8u)
#define PAGE_BYTES (COMMIT_AT + sizeof(struct commit))
#define ERASED UINT32_MAX
#define NO_PAGE (-1)

_Static_assert(PAGE_BYTES <= APP_RECEIVE_BYTES, "a block arrives with room behind it");

static const struct snap_model_settings *in_use;
static int page_in_use; /* NO_PAGE: they are the image's own */
static uint32_t sequence_in_use;

/* ---- Pages that cannot be read ------------------------------------------------ */

/* Flash that was being written when the power went may fault when it is read (an NMI, a bus
 * fault), and so would each boot. What is going on is therefore told to the boot that follows
 * a fault: a page whose reading has not come to an end twice is left alone until it is erased.
 * Twice, because a reset may come at any time. */
#define READING(page) (1u << (page))
#define FAILED(page) (4u << (page))
#define GIVEN_UP(page) (16u << (page))
#define KEPT_MAGIC 0x534E0000u

static uint32_t kept(void)
{
    const volatile uint32_t *word = port_kept();
    const uint32_t flags = word ? *word & 0xFFu : 0;
    return word && *word == (KEPT_MAGIC | (flags ^ 0xFFu) << 8 | flags) ? flags : 0;
}

static void keep(uint32_t flags)
{
    volatile uint32_t *word = port_kept();
    if (word) {
        *word = KEPT_MAGIC | (flags ^ 0xFFu) << 8 | flags;
    }
}

static void forget_failures(int page)
{
    keep(kept() & ~(FAILED(page) | GIVEN_UP(page)));
}

/* Whether the page may be read; done_reading() ends it. */
static bool start_reading(int page)
{
    uint32_t flags = kept();
    if (flags & READING(page)) {
        flags |= flags & FAILED(page) ? GIVEN_UP(page) : FAILED(page);
    }
    flags &= ~READING(page);
    const bool may = !(flags & GIVEN_UP(page));
    keep(flags | (may ? READING(page) : 0));
    return may;
}

static void done_reading(int page)
{
    keep(kept() & ~(READING(page) | FAILED(page)));
}

/* ---- Choosing ------------------------------------------------------------------ */

/* The block in these bytes if it is one for this image, else 0. */
static const struct snap_model_settings *fitting(const uint8_t *bytes, size_t count)
{
    const struct snap_model_settings *settings = (const void *)bytes;
    const uint32_t own = snap_model_settings.check;
    if (count < sizeof *settings || !snap_model_settings_fit(settings) ||
        settings->check != snapuq_crc32(0, bytes + CHECKED_FROM, sizeof *settings - CHECKED_FROM) ||
        (settings->replaces != own && settings->check != own)) {
        return 0;
    }
    return settings;
}

/* The check covers the sequence, and the block with what fills it up. */
static uint32_t check_of(const uint8_t *bytes)
{
    return snapuq_crc32(0, bytes, PAGE_BYTES - sizeof(uint32_t));
}

static void choose(int page, const uint8_t *bytes)
{
    const struct commit *commit = (const void *)(bytes + COMMIT_AT);
    if (commit->sequence == ERASED || commit->check != check_of(bytes)) {
        return;
    }
    const struct snap_model_settings *settings = fitting(bytes, PAGE_BYTES);
    if (settings &&
        (page_in_use == NO_PAGE || (int32_t)(commit->sequence - sequence_in_use) > 0)) {
        in_use = settings;
        page_in_use = page;
        sequence_in_use = commit->sequence;
    }
}

void app_settings_init(void)
{
    in_use = &snap_model_settings;
    page_in_use = NO_PAGE;
    sequence_in_use = 0;
    for (int page = 0; page < PORT_SETTINGS_PAGES; page++) {
        const struct port_settings flash = port_settings(page);
        if (flash.capacity >= PAGE_BYTES && start_reading(page)) {
            choose(page, flash.bytes);
            done_reading(page);
        }
    }
}

const struct snap_model_settings *app_settings(void)
{
    return in_use;
}

uint32_t app_settings_check(void)
{
    return in_use->check;
}

uint32_t app_settings_own_check(void)
{
    return snap_model_settings.check;
}

/* ---- Replacing ------------------------------------------------------------------- */

/* Into a page that is not in use: until its last bytes are written, the old ones stand. */
static bool write(uint8_t *block)
{
    struct commit *const commit = (void *)(block + COMMIT_AT);
    memset(block + sizeof *in_use, 0, COMMIT_AT - sizeof *in_use);
    commit->sequence = sequence_in_use + 1;
    commit->check = check_of(block);
    for (int page = 0; page < PORT_SETTINGS_PAGES; page++) {
        if (page != page_in_use && port_settings(page).capacity >= PAGE_BYTES &&
            port_settings_replace(page, block, PAGE_BYTES)) {
            forget_failures(page);
            return true;
        }
    }
    return false;
}

enum app_error app_settings_replace(uint8_t *block, uint32_t count)
{
    const struct snap_model_settings *settings = fitting(block, count);
    if (!settings || count != sizeof *settings) {
        return APP_ERROR_SETTINGS;
    }
    if (settings->check == in_use->check) {
        return APP_OK; /* the flash has been written often enough */
    }
    const bool written = write(block);
    app_settings_init();
    return written ? APP_OK : APP_ERROR_FLASH;
}

#endif
