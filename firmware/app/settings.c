#include "settings.h"

#include "port.h"
#include "snap_model.h"

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

enum app_error app_settings_replace(const uint8_t *block, uint32_t count)
{
    (void)block, (void)count;
    return APP_ERROR_SETTINGS;
}

#else

#define CHECKED_FROM 16 /* the fields in front of it speak of the block itself */

static const struct snap_model_settings *in_use;

/* The block in these bytes if it is one for this image, else 0. */
static const struct snap_model_settings *fitting(const uint8_t *bytes, size_t count)
{
    const struct snap_model_settings *settings = (const void *)bytes;
    if (count < sizeof *settings || !snap_model_settings_fit(settings) ||
        settings->check != app_crc32(0, bytes + CHECKED_FROM, sizeof *settings - CHECKED_FROM)) {
        return 0;
    }
    return settings;
}

void app_settings_init(void)
{
    const struct port_settings flash = port_settings();
    const struct snap_model_settings *stored = fitting(flash.bytes, flash.capacity);
    in_use = stored && stored->replaces == snap_model_settings.check ? stored
                                                                     : &snap_model_settings;
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

enum app_error app_settings_replace(const uint8_t *block, uint32_t count)
{
    const size_t capacity = port_settings().capacity;
    const struct snap_model_settings *settings = fitting(block, count);
    if (!settings || count != sizeof *settings) {
        return APP_ERROR_SETTINGS;
    }
    const bool own = settings->check == snap_model_settings.check;
    if (!own && settings->replaces != snap_model_settings.check) {
        return APP_ERROR_SETTINGS;
    }
    bool written;
    if (own) {
        written = capacity == 0 || port_settings_replace(block, 0);
    } else {
        written = capacity >= count && port_settings_replace(block, count);
    }
    app_settings_init();
    return written ? APP_OK : APP_ERROR_FLASH;
}

#endif
