"""The settings block as a C struct, its values in snap_settings.c, and what reads it."""

from snapcli.emit.header import (
    ALARM_BASELINE,
    ALARM_CLEAR,
    ALARM_RESUME,
    ALARM_START,
    ALARM_STEP,
    DECIDE,
    EVIDENCE_OFFER,
    FIT,
    SETTINGS,
    START,
    TELEMETRY_ADD,
    TELEMETRY_RECORD,
)
from snapcli.emit.names import LOG2
from snapcli.emit.text import GENERATED, c_literal, c_type_of, wrap
from snapcli.fixedpoint import MapIsotonic
from snapcli.monitor.monitor import Monitor
from snapcli.monitor.settings import (
    ALARM_PREFIX,
    MAGIC,
    check_of,
    layout_of,
    pack_settings,
    settings_fields,
)

_HEADER = """/* What calibration fits, apart from code and network, so that it can be replaced. */
struct snap_model_settings {
    uint32_t magic, bytes, check, replaces;
    uint8_t model_id[8];
    uint32_t layout;
"""


def emit_struct(monitor: Monitor) -> str:
    """The type; snap_model.h shows it."""
    lines = [
        f"    {c_type_of(field.values)} {field.name}"
        f"{'' if field.scalar else f'[{field.values.size}]'};\n"
        for field in settings_fields(monitor)
        if not field.name.startswith(ALARM_PREFIX)
    ]
    return f"{_HEADER}{''.join(lines)}    struct snapuq_alarm alarm;\n}};"


def emit_settings(monitor: Monitor, model_id: str, header: str = "snap_model.h") -> str:
    """snap_settings.c: the settings that an image carries; header: the file that shows the type."""
    block = pack_settings(monitor, model_id)
    digits = ", ".join(f"0x{byte:02x}" for byte in bytes.fromhex(model_id))
    lines = [
        f"    .magic = 0x{MAGIC:08x}u,\n    .bytes = {len(block)}u,\n",
        f"    .check = 0x{check_of(block):08x}u,\n    .replaces = 0u,\n",
        f"    .model_id = {{{digits}}},\n    .layout = 0x{layout_of(monitor):08x}u,\n",
    ]
    for field in settings_fields(monitor):
        values = [c_literal(v, c_type_of(field.values)) for v in field.values.tolist()]
        if field.scalar:
            lines.append(f"    .{field.name} = {values[0]},\n")
        else:
            lines.append(f"    .{field.name} = {{\n{wrap(values)}    }},\n")
    return (
        f'{GENERATED}#include "{header}"\n\n{SETTINGS} = {{\n{"".join(lines)}}};\n\n'
        f"_Static_assert(sizeof snap_model_settings == {len(block)}, "
        '"the block has no gaps");\n'
    )


def emit_stream(monitor: Monitor) -> str:
    """Functions of snap_model.c: whether a block may be used, and the stream of decisions."""
    ranges = [
        "settings->controlled > 1u",
        # As unsigned numbers, negative ones are too large as well.
        "(uint32_t)settings->budget_q24 > ONE_Q24",
        "(uint32_t)settings->eta_q24 > ONE_Q24",
        "(uint32_t)settings->kappa_q24 > ONE_Q24",
        "(uint32_t)settings->first_threshold_q24 > ONE_Q24",
        "settings->alpha_q16 > 65536u",
        "(uint32_t)settings->step_q16 > 1u << 22",
        "settings->alarm.detector > SNAPUQ_ALARM_WINDOW",
        "settings->alarm_signal > 3u",
        "settings->alarm.baseline > 65535u",
        "(uint32_t)settings->alarm.confidence_q16 > STATISTIC_Q16",
        "outside(settings->alarm.offset_q16, NATS_Q16)",
        "outside(settings->alarm.limit_q16, NATS_Q16)",
        "outside(settings->alarm.start_q16, STATISTIC_Q16)",
        "outside(settings->alarm.clear_q16, STATISTIC_Q16)",
        "outside(settings->alarm.threshold_q16, STATISTIC_Q16)",
        # The cap of a sum is twice its threshold.
        "(settings->alarm.detector == SNAPUQ_ALARM_SUM && settings->alarm.threshold_q16 < 1)",
    ]
    loop = ""
    if isinstance(monitor.decision.map, MapIsotonic):
        ranges += [
            "settings->gamma_q16 > 65536u",
            "(uint32_t)settings->breakpoints > SNAPUQ_BREAKPOINTS_MAX",
        ]
        loop = """    for (int32_t i = 0; i <= SNAPUQ_BREAKPOINTS_MAX; i++) {
        if (settings->value_q16[i] > 65536u) {
            return 0;
        }
    }
"""
    loop += """    for (int32_t i = 1; i < SNAPUQ_ALARM_BINS; i++) {
        if (settings->alarm.gain_q16[i] < settings->alarm.gain_q16[i - 1] ||
            (i > 1 && settings->alarm.edge_q16[i - 1] < settings->alarm.edge_q16[i - 2])) {
            return 0;
        }
    }
    if (outside(settings->alarm.gain_q16[0], NATS_Q16) ||
        outside(settings->alarm.gain_q16[SNAPUQ_ALARM_BINS - 1], NATS_Q16)) {
        return 0;
    }
"""
    outside = " ||\n        ".join(ranges)
    return f"""#define ONE_Q24 (1u << 24)
#define NATS_Q16 (16u << 16)
#define STATISTIC_Q16 (1u << 28)

static int32_t outside(int32_t value, uint32_t limit)
{{
    return (uint32_t)value + limit > 2u * limit;
}}

{FIT}
{{
    const struct snap_model_settings *const own = &snap_model_settings;
    if (settings->magic != own->magic || settings->bytes != own->bytes ||
        settings->layout != own->layout) {{
        return 0;
    }}
    for (int32_t i = 0; i < (int32_t)sizeof own->model_id; i++) {{
        if (settings->model_id[i] != own->model_id[i]) {{
            return 0;
        }}
    }}
{loop}    if ({outside}) {{
        return 0;
    }}
    return 1;
}}

{START}
{{
    const uint32_t still_q24 =
        settings->threshold_q16 > 65536u ? ONE_Q24 : settings->threshold_q16 << 8;
    state->rate_q24 = 0;
    state->threshold_q24 =
        settings->controlled ? settings->first_threshold_q24 : (int32_t)still_q24;
}}

{DECIDE}
{{
    const struct snapuq_budget budget = {{settings->budget_q24, settings->eta_q24,
                                         settings->kappa_q24, settings->first_threshold_q24}};
    return settings->controlled
               ? snapuq_budget_step(&budget, state, result->uncertainty_q16)
               : result->uncertainty_q16 >= settings->threshold_q16;
}}

{ALARM_START}
{{
    snapuq_alarm_start(&settings->alarm, state);
}}

{ALARM_RESUME}
{{
    snapuq_alarm_resume(&settings->alarm, state, kept);
}}

{ALARM_CLEAR}
{{
    snapuq_alarm_clear(&settings->alarm, state);
}}

{ALARM_BASELINE}
{{
    snapuq_alarm_baseline(&settings->alarm, state);
}}

static uint32_t watched_q16(const struct snap_model_settings *settings,
                            const struct snap_model_result *result)
{{
    const uint32_t values_q16[] = {{result->uncertainty_q16, result->foreign_q16,
                                   result->score_q16, result->abstain ? 65536u : 0u}};
    return values_q16[settings->alarm_signal];
}}

{ALARM_STEP}
{{
    return snapuq_alarm_step(&settings->alarm, state, watched_q16(settings, result),
                             result->uncertainty_q16, {LOG2});
}}

{EVIDENCE_OFFER}
{{
    const struct snapuq_kept offered = {{
        .value_q16 = watched_q16(settings, result),
        .frame = frame,
        .uncertainty_q16 = result->uncertainty_q16,
        .foreign_q16 = result->foreign_q16,
        .predicted = result->predicted,
    }};
    return snapuq_evidence_offer(evidence, &offered);
}}

{TELEMETRY_ADD}
{{
    return snapuq_telemetry_add(telemetry, result->uncertainty_q16, result->abstain,
                                result->foreign_q16, result->foreign, alarm);
}}

{TELEMETRY_RECORD}
{{
    snapuq_telemetry_record(telemetry, settings->model_id, settings->check, device, record);
}}
"""
