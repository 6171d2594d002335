"""snap_model.h: all that a user of an exported model sees."""

from collections.abc import Sequence

from snapcli.emit.names import c_names
from snapcli.emit.program import Program
from snapcli.emit.steps import moved
from snapcli.emit.text import GENERATED, float_literal, shape_text
from snapcli.graph.graph import Tensor
from snapcli.graph.plan import ALIGNMENT
from snapcli.monitor.monitor import Monitor

# Of the structs that a monitor's functions are given.
LIBRARY = "snapuq.h"
RUN = "void snap_model_run(void *arena)"
RUN_MONITOR = "void snap_model_run(void *arena, struct snap_model_result *result)"
RUN_WITH = (
    "void snap_model_run_with(void *arena, const struct snap_model_settings *settings,\n"
    "                         struct snap_model_result *result)"
)
PROBABILITY = (
    "void snap_model_probability_q16(const struct snap_model_result *result,\n"
    "                                uint32_t *probability_q16)"
)
SETTINGS = "const struct snap_model_settings snap_model_settings"
FIT = "int32_t snap_model_settings_fit(const struct snap_model_settings *settings)"
START = (
    "void snap_model_start(const struct snap_model_settings *settings,\n"
    "                      struct snapuq_budget_state *state)"
)
DECIDE = (
    "int32_t snap_model_decide(const struct snap_model_settings *settings,\n"
    "                          struct snapuq_budget_state *state,\n"
    "                          const struct snap_model_result *result)"
)
_STATE = "struct snapuq_alarm_state *state"
_SETTINGS = "const struct snap_model_settings *settings"
# What an alarm does with the settings of its parameters, and what else each function is given.
ALARM_START = f"void snap_alarm_start_with({_SETTINGS},\n                           {_STATE})"
ALARM_RESUME = (
    f"void snap_alarm_resume_with({_SETTINGS},\n                            {_STATE},\n"
    "                            const struct snapuq_alarm_state *kept)"
)
ALARM_CLEAR = f"void snap_alarm_clear_with({_SETTINGS},\n                           {_STATE})"
ALARM_BASELINE = (
    f"void snap_alarm_baseline_with({_SETTINGS},\n                              {_STATE})"
)
ALARM_STEP = (
    f"int32_t snap_alarm_step_with({_SETTINGS},\n                             {_STATE},\n"
    "                             const struct snap_model_result *result)"
)
EVIDENCE_OFFER = (
    f"int32_t snap_evidence_offer_with({_SETTINGS},\n"
    "                                 struct snapuq_evidence *evidence,\n"
    "                                 const struct snap_model_result *result, uint32_t frame)"
)
TELEMETRY_ADD = (
    "int32_t snap_telemetry_add(struct snapuq_telemetry *telemetry,\n"
    "                           const struct snap_model_result *result,\n"
    "                           const struct snapuq_alarm_state *alarm)"
)
TELEMETRY_RECORD = (
    f"void snap_telemetry_record_with({_SETTINGS},\n"
    "                                const struct snapuq_telemetry *telemetry, uint64_t device,\n"
    "                                uint8_t *record)"
)
_RESULT = """struct snap_model_result {
    int32_t predicted;
    uint32_t score_q16;       /* S */
    uint32_t uncertainty_q16; /* U, 65536 = 1: the probability of an error, or without labels
                                 the share of clean inputs with a smaller S */
    int32_t abstain;          /* U >= the settings' threshold_q16 */
    uint32_t foreign_q16;     /* F: the share of clean inputs that are less strange, 65536 = 1 */
    int32_t foreign;          /* F >= the settings' foreign_threshold_q16 */
%s    int8_t logits[SNAP_MODEL_CLASSES];
};"""
STREAM_FACE = f"""\
/* A stream of inputs: with a budget controller in the settings its threshold follows the budget,
 * otherwise it stands still. The state (see snapuq.h) is the caller's. */
{START};

/* Whether the result of the next input in the stream abstains, 0 or 1; once for each. */
{DECIDE};

/* An alarm for accuracy that drops, found over many inputs of a stream (see snapuq.h, where its
 * state has the number of alarms and the estimated accuracy). */
{ALARM_START};

/* The result of the next input in the stream: whether the alarm is on, 0 or 1; once for each. */
{ALARM_STEP};

/* Goes on with a stream whose state was kept over a restart. */
{ALARM_RESUME};

/* Ends an alarm by hand. */
{ALARM_CLEAR};

/* Learns from the next inputs how clean ones look here. */
{ALARM_BASELINE};

/* The most surprising inputs, by what the alarm watches (see snapuq.h): whether the one at the free
 * place, whose result this is, stays there. frame: the caller's number for it. */
{EVIDENCE_OFFER};

/* What a stream was like, as a record that snap fleet merges (see snapuq.h). Counts a result, after
 * its step of the alarm: 1 once the record is full. */
{TELEMETRY_ADD};

/* The record, [SNAPUQ_TELEMETRY_BYTES]; device: the caller's number, 0 for none. */
{TELEMETRY_RECORD};

/* With the settings that this model was exported with. */
static inline void snap_alarm_start({_STATE})
{{
    snap_alarm_start_with(&snap_model_settings, state);
}}

static inline int32_t snap_alarm_step({_STATE},
                                      const struct snap_model_result *result)
{{
    return snap_alarm_step_with(&snap_model_settings, state, result);
}}

static inline void snap_alarm_resume({_STATE},
                                     const struct snapuq_alarm_state *kept)
{{
    snap_alarm_resume_with(&snap_model_settings, state, kept);
}}

static inline void snap_alarm_clear({_STATE})
{{
    snap_alarm_clear_with(&snap_model_settings, state);
}}

static inline void snap_alarm_baseline({_STATE})
{{
    snap_alarm_baseline_with(&snap_model_settings, state);
}}

static inline int32_t snap_evidence_offer(struct snapuq_evidence *evidence,
                                          const struct snap_model_result *result, uint32_t frame)
{{
    return snap_evidence_offer_with(&snap_model_settings, evidence, result, frame);
}}

static inline void snap_telemetry_record(const struct snapuq_telemetry *telemetry,
                                         uint64_t device, uint8_t *record)
{{
    snap_telemetry_record_with(&snap_model_settings, telemetry, device, record);
}}"""
# Behind the last step of the program, with a monitor.
CLOSING = {"class": "classifier", "map": "map"}
_ARENA = "/* arena: SNAP_MODEL_ARENA_BYTES bytes, aligned to SNAP_MODEL_ARENA_ALIGN. */"
ALIGN = f"#define SNAP_MODEL_ARENA_ALIGN {ALIGNMENT}"
_PLAIN_FACE = f"{_ARENA}\n{RUN};"


def emit_header(
    program: Program, monitor: Monitor | None, settings: str | None, digest: str
) -> str:
    """settings: the struct of the settings block, with a monitor."""
    lines = [f'#define SNAP_MODEL_ID "{digest}"']
    if monitor:
        lines.append(f"#define SNAP_MODEL_CLASSES {monitor.body.classes}")
        lines.append(f"#define SNAP_MODEL_TAPS {len(monitor.body.taps)}")
        logits = program.graph.tensors[monitor.body.logits_tensor]
        lines += quantization("SNAP_MODEL_LOGITS", logits)
    lines.append(f"#define SNAP_MODEL_ARENA_BYTES {program.full.arena_bytes}")
    lines += [ALIGN, *access(program), ""]
    if monitor and settings:
        lines += [result_struct(of_taps(monitor)), "", monitor_face(settings)]
        return guarded("SNAP_MODEL_H", lines, LIBRARY)
    return guarded("SNAP_MODEL_H", [*lines, _PLAIN_FACE])


def result_struct(taps: str) -> str:
    """taps: how many surprisals it has room for, in C; none if it is empty."""
    return _RESULT % (f"    uint32_t surprisal_q16[{taps}];\n" if taps else "")


def of_taps(monitor: Monitor) -> str:
    """How many surprisals there are, in C; C has no arrays of nothing."""
    return "SNAP_MODEL_TAPS" if monitor.body.taps else ""


def access(program: Program) -> list[str]:
    """How the caller reaches every input and output."""
    graph, offsets = program.graph, program.full.offsets
    lines = []
    for name, function in zip(graph.inputs, input_functions(program), strict=True):
        lines += ["", *_access(function, "", graph.tensors[name], offsets[name])]
    for name, function in zip(program.outputs, output_functions(program), strict=True):
        stored = graph.stored(name)
        offset = offsets.get(moved(stored), offsets[stored])
        lines += ["", *_access(function, "const ", graph.tensors[name], offset)]
    return lines


def guarded(guard: str, lines: Sequence[str], *headers: str) -> str:
    """A header for C and C++, behind others that it needs."""
    includes = "".join(f'#include "{header}"\n' for header in headers)
    includes = f"\n{includes}" if includes else ""
    joined = "\n".join(lines)
    return f"""{GENERATED}#ifndef {guard}
#define {guard}

#include <stdint.h>
{includes}
#ifdef __cplusplus
extern "C" {{
#endif

{joined}

#ifdef __cplusplus
}}
#endif

#endif
"""


def input_functions(program: Program) -> list[str]:
    """C functions that say where the inputs lie in the arena, in the inputs' order."""
    return _functions("snap_model_input", program.graph.inputs)


def output_functions(program: Program) -> list[str]:
    return _functions("snap_model_output", program.outputs)


def _functions(base: str, tensors: Sequence[str]) -> list[str]:
    if len(tensors) == 1:
        return [base]
    named = c_names(tensors)  # two outputs may be views of the same bytes
    by_macro: dict[str, str] = {}  # by the name of the macros, which does not tell x from X
    for name in tensors:
        function, n = f"{base}_{named[name]}", 2
        while function.upper() in by_macro:
            function, n = f"{base}_{named[name]}_{n}", n + 1
        by_macro[function.upper()] = function
    return list(by_macro.values())


def _access(function: str, const: str, tensor: Tensor, offset: int) -> list[str]:
    """What an input or output is, and the function that says where it lies."""
    ctype, macro = c_type(tensor), function.upper()
    meaning, constants = "", []
    if tensor.dtype == "int8":
        meaning = ", real = scale * (q - zero point)"
        constants = quantization(macro, tensor)
    when = "valid until the next input is written" if const else "a run overwrites it"
    through = f"({const}void *)" if ctype == "float" else ""
    inner = f"{through}(({const}uint8_t *)arena + {offset})"
    return [
        f"/* {shape_text(tensor.shape)} {tensor.dtype}{meaning}. It lies in the arena;",
        f" * {when}. */",
        f"#define {macro}_BYTES {tensor.size_bytes}",
        *constants,
        f"static inline {const}{ctype} *{function}({const}void *arena)",
        "{",
        f"    return ({const}{ctype} *){inner};",
        "}",
    ]


def quantization(macro: str, tensor: Tensor) -> list[str]:
    """Of an int8 tensor, as constants: real = scale * (q - zero point)."""
    return [
        f"#define {macro}_SCALE {float_literal(tensor.scale)}",
        f"#define {macro}_ZERO_POINT ({tensor.zero_point})",
    ]


def c_type(tensor: Tensor) -> str:
    return "float" if tensor.dtype == "float32" else "int8_t"


def monitor_face(settings: str) -> str:
    """settings: the struct of the settings block."""
    return f"""{_ARENA}
{RUN_MONITOR};

{settings_face(settings)}

/* snap_model_run() with settings of one's own. */
{RUN_WITH};

{STREAM_FACE}"""


def settings_face(settings: str) -> str:
    """settings: the struct of the settings block."""
    return f"""/* The softmax of the logits, [SNAP_MODEL_CLASSES], 65536 = 1. */
{PROBABILITY};

{settings}

/* Those that this model was exported with. */
extern {SETTINGS};

/* Whether other settings are for this model and in range, 0 or 1; their check is the
 * caller's part. */
{FIT};"""
