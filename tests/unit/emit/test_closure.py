"""needed_files: all that a program calls, and nothing more."""

from snapcli.emit.closure import needed_files

LIBRARY = {
    "add.c": '#include "inner.h"\nint add(int a, int b)\n{\n    return twice(a) - b;\n}\n',
    "twice.c": '#include "face.h"\nint twice(int a)\n{\n    return 2 * a;\n}\n',
    "spare.c": '#include "face.h"\nint spare(int a)\n{\n    return add(a, a);\n}\n',
    "tables/big.c": "int big\n(int a,\n int b)\n{\n    return a + b;\n}\n",
    "include/face.h": "int add(int a, int b);\nint twice(int a);\nint spare(int a);\n",
    "inner.h": '#include "face.h"\nstatic inline int one(void) { return spare_not(1); }\n',
    "unused.h": "int nothing(void);\n",
}


def test_calls_and_includes_are_followed() -> None:
    found = needed_files(LIBRARY, ['#include "face.h"\nint main(void) { return add(1, 2); }\n'])
    assert found == ["add.c", "include/face.h", "inner.h", "twice.c"]


def test_a_declaration_or_a_comment_is_no_call() -> None:
    text = '#include "face.h"\n/* spare(1) */ // big(1, 2)\nint main(void) { return 0; }\n'
    assert needed_files(LIBRARY, [text]) == ["include/face.h"]


def test_a_definition_may_span_lines_and_lie_in_a_folder() -> None:
    assert needed_files(LIBRARY, ["int main(void) { return big(1, 2); }"]) == ["tables/big.c"]


ARM = {
    "a.c": """#if defined(ARM_MATH_MVEI)
static void helper(void) { }
#endif
int arm_a(const int *x,
          int y)
{
#if defined(ARM_MATH_MVEI)
    #if defined(OTHER)
    arm_mve();
    #endif
#elif defined(ARM_MATH_DSP)
    arm_dsp(); // arm_unused()
#else
    arm_plain();
#endif
}
""",
    "mve.c": "void arm_mve(void)\n{\n}\n",
    "dsp.c": "static void helper(void)\n{\n}\nint8_t *arm_dsp(void)\n{\n    arm_a();\n}\n",
    "plain.c": "int arm_plain(void)\n{\n    return arm_table[0];\n}\n",
    "tables.c": "const int16_t arm_table[2] = {1, 2};\n",
    "unused.c": "static void helper(void)\n{\n}\nvoid arm_unused(void)\n{\n    arm_a();\n}\n",
}


def test_what_only_mve_needs_is_left_out_and_tables_are_found() -> None:
    assert needed_files(ARM, ["arm_a(0, 1);"]) == ["a.c", "dsp.c", "plain.c", "tables.c"]
    assert needed_files(ARM, [""]) == []


def test_a_structure_of_the_same_name_is_no_call() -> None:
    library = {"f.c": "int f(void)\n{\n    return 1;\n}\n"}
    assert needed_files(library, ["struct f *pointer; f = 2;"]) == []
    assert needed_files(library, ["f ()"]) == ["f.c"]
