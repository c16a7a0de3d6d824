"""Each fault that kernels/cuda/check_code.py looks for is seen in a listing that has it."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "kernels/cuda"))
import check_code


def listing(instructions=None, without=()):
    """What cuobjdump writes of all kernels, each with what it has to have or with `instructions` of its name."""
    names = [f"_ZN6inferd7kernels3gpu14{kernel}INS1_8Type{kind}EEEvNS1_16ProductArgumentsE"
             for kernel in ("MultiplyVector", "MultiplyMatrix") for kind in check_code.QUANTIZED_TYPES]
    names += [f"_ZN6inferd7kernels3gpu{len(kernel)}{kernel}ENS1_13SpanArgumentsE" for kernel in check_code.KERNELS if kernel[:6] != "Multip"]
    names.append("_ZN6inferd7kernels3gpu8AnyOtherEPf")
    names.append("_ZN6inferd7kernels3gpu14MultiplyFloatsINS1_7TypeF16EEEvNS1_16ProductArgumentsE")
    text = ""
    for name in names:
        kernel = next((kernel for kernel in check_code.KERNELS if kernel in name), "AnyOther")
        if not any(part in name for part in without):
            text += f"\t\tFunction : {name}\n    /*0000*/ {(instructions or {}).get(kernel, check_code.KERNELS.get(kernel) or 'MOV')} R1, R2 ;\n"
    return text


def test_a_whole_listing_is_clean():
    assert list(check_code.check(listing(), "80")) == []


@pytest.mark.parametrize("instructions, without, expected", [
    ({"MultiplyMatrix": "IDP"}, (), "MultiplyMatrixINS1_8TypeQ4_0EEEvNS1_16ProductArgumentsE has no IMMA"),
    ({"MultiplyVector": "IMAD"}, (), "has no IDP"),
    ({"RmsNorm": "FFMA R1, R2 ;\n STL [R1]"}, (), "RmsNormENS1_13SpanArgumentsE spills"),
    ({"WriteKv": "LDL"}, (), "spills"),
    ({"AnyOther": "STL"}, (), "AnyOtherEPf spills"),
    ({}, ("TopK",), "sm_80: no kernel TopK"),
    ({}, ("MatrixINS1_8TypeQ5_1",), "sm_80: no kernel MultiplyMatrix for Q5_1"),
])
def test_a_fault_is_seen(instructions, without, expected):
    assert expected in "\n".join(check_code.check(listing(instructions, without), "80"))
