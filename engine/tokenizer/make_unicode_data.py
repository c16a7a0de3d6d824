#!/usr/bin/env python3
"""Writes unicode_data.cc: the Unicode tables that pre-tokenizers and normalizers ask for.

    python3 engine/tokenizer/make_unicode_data.py > engine/tokenizer/unicode_data.cc

Python 3.11 knows Unicode 14, as does PCRE2 10.42, so that scanners and patterns agree; unicode_test.cc compares them.
"""
import sys
import unicodedata

CATEGORIES = "Cn Cc Cf Co Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So Zl Zp Zs".split()
WHITE_SPACE = {9, 10, 11, 12, 13, 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
WHITE_SPACE_BIT = 0x20


def category_ranges():
    previous = None
    for code_point in range(0x110000):
        value = CATEGORIES.index(unicodedata.category(chr(code_point)))
        value |= WHITE_SPACE_BIT if code_point in WHITE_SPACE else 0
        if value != previous:
            yield f"{{{code_point:#x},{value}}}"
        previous = value


def lowercase_pairs():
    for code_point in range(0x110000):
        lower = chr(code_point).lower()
        if len(lower) == 1 and ord(lower) != code_point:
            yield f"{{{code_point:#x},{ord(lower):#x}}}"


def decompositions():
    for code_point in range(0x110000):
        parts = unicodedata.decomposition(chr(code_point)).split()
        if parts and not parts[0].startswith("<"):
            first, second = int(parts[0], 16), int(parts[1], 16) if len(parts) > 1 else 0
            yield f"{{{code_point:#x},{first:#x},{second:#x}}}"


def table(declaration, items):
    print(f"\n{declaration} = {{")
    line = "   "
    for item in items:
        if len(line) + len(item) + 2 > 118:
            print(line)
            line = "   "
        line += " " + item + ","
    print(line + "\n};")


def main():
    print(f"// Long because Unicode is: tables of Unicode {unicodedata.unidata_version}, written by make_unicode_data.py: do not edit.")
    print('#include "engine/tokenizer/unicode_data.h"\n\nnamespace inferd::tokenizer {')
    print("// clang-format off")
    table("const CategoryRange kCategoryRanges[]", category_ranges())
    table("const LowercasePair kLowercasePairs[]", lowercase_pairs())
    table("const Decomposition kDecompositions[]", decompositions())
    print("\nconst size_t kCategoryRangeCount = std::size(kCategoryRanges);")
    print("const size_t kLowercasePairCount = std::size(kLowercasePairs);")
    print("const size_t kDecompositionCount = std::size(kDecompositions);")
    print("// clang-format on\n}  // namespace inferd::tokenizer")


if __name__ == "__main__":
    sys.exit(main())
