"""The quantizations that llama.cpp has names for (`general.file_type`), and which of them can be made here."""

from __future__ import annotations

# What the quantizer was asked for. Single tensors may differ.
# fmt: off
FILE_TYPES = {
     0: "F32",        1: "F16",        2: "Q4_0",       3: "Q4_1",       7: "Q8_0",       8: "Q5_0",
     9: "Q5_1",      10: "Q2_K",      11: "Q3_K_S",    12: "Q3_K_M",    13: "Q3_K_L",    14: "Q4_K_S",
    15: "Q4_K_M",    16: "Q5_K_S",    17: "Q5_K_M",    18: "Q6_K",      19: "IQ2_XXS",   20: "IQ2_XS",
    21: "Q2_K_S",    22: "IQ3_XS",    23: "IQ3_XXS",   24: "IQ1_S",     25: "IQ4_NL",    26: "IQ3_S",
    27: "IQ3_M",     28: "IQ2_S",     29: "IQ2_M",     30: "IQ4_XS",    31: "IQ1_M",     32: "BF16",
    36: "TQ1_0",     37: "TQ2_0",     38: "MXFP4_MOE", 39: "NVFP4",     40: "Q1_0",      41: "Q2_0",
}

MAKEABLE = (
    "F32", "F16", "BF16", "Q8_0", "Q6_K", "Q5_K_M", "Q5_K_S", "Q5_1", "Q5_0", "Q4_K_M", "Q4_K_S", "Q4_1", "Q4_0",
    "IQ4_NL", "IQ4_XS", "MXFP4_MOE", "Q3_K_L", "Q3_K_M", "Q3_K_S", "IQ3_M", "IQ3_S", "Q2_K", "Q2_0", "TQ2_0", "TQ1_0",
    "Q1_0",
)
"""From the largest to the smallest."""

# llama.cpp refuses to make these without one, since "the result will be garbage".
NEED_IMPORTANCE_MATRIX = (
    "Q2_K_S", "IQ3_XS", "IQ3_XXS", "IQ2_M", "IQ2_S", "IQ2_XS", "IQ2_XXS", "IQ1_M", "IQ1_S",
)
# fmt: on
