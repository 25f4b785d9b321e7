"""Commands, options and their values: what is misspelt, missing, or too much."""

from __future__ import annotations

from cli.messages.rows import Row, file

FILES = "--base base.gguf --adapter adapter.gguf"

ROWS = [
    # Names
    Row("chek", "no command 'chek'; did you mean 'check'?"),
    Row("xyzzy", "no command 'xyzzy'; there are cache, cases, check"),
    Row("cases lst", "no command 'lst'; did you mean 'list'?"),
    Row("cache cler", "no command 'cler'; did you mean 'clear'?"),
    Row("check --bass base.gguf", "--base"),
    Row("check s.yaml --dialect hermse", "'--dialect': no dialect 'hermse'; did you mean 'hermes'?"),
    Row("check s.yaml --dialect sindarin", "no dialect 'sindarin'; give one of auto, "),
    Row("check s.yaml --prompt chta", "'--prompt': no prompt 'chta'; did you mean 'chat'?"),
    Row("check s.yaml --template bsae", "'--template': no template 'bsae'; did you mean 'base'?"),
    Row("check s.yaml --schema strcit", "'--schema': no schema 'strcit'; did you mean 'strict'?"),
    Row("check s.yaml --fail-on wran", "'--fail-on': no fail-on 'wran'; did you mean 'warn'?"),
    Row("check s.yaml --quantize Q4_KM", "'--quantize': no quantization 'Q4_KM'; did you mean 'Q4_K_M'?"),
    Row("sweep s.yaml --require alll", "'--require': no require 'alll'; did you mean 'all'?"),
    Row("report report.json --format htm", "'--format': no format 'htm'; did you mean 'html'?"),
    Row("convert peft --base peft-base.gguf -o a.gguf --outtype f61", "no outtype 'f61'; did you mean 'f16'?"),
    Row("null --like adapter.gguf -o n.gguf --match nrom", "no match 'nrom'; did you mean 'norm'?"),
    Row("demo --model qwne", "'--model': no model 'qwne'; did you mean 'qwen'?"),
    Row("demo --adapter renamr", "'--adapter': no adapter 'renamr'; did you mean 'renamer'?"),
    # Numbers
    Row("check s.yaml --threads 0", "'--threads': 0 is not in the range 1<=x<=512"),
    Row("check s.yaml --null-runs many", "'--null-runs': 'many' is not a valid integer"),
    Row("report report.json --limit z", "'z': write LIMIT=NUMBER, such as assert_validity_delta_gte=-0.10"),
    Row("check s.yaml --template-arg think", "'think' is not KEY=JSON; write it like enable_thinking=false"),
    Row("check s.yaml --template-arg think=True", "'True' is not JSON; did you mean 'think=true'?"),
    Row(f"check {FILES}@strong", "'strong' in 'adapter.gguf@strong' is not a scale; write PATH@0.5"),
    Row(f"check {FILES}@inf", "the scale in 'adapter.gguf@inf' is not a finite number; write PATH@0.5"),
    Row(f"check {FILES} --trials 3", "trials (3) need a temperature to be drawn at; give one, such as 0.7"),
    Row(f"check {FILES} --top-k 3", "top_k is for trials, and answers are greedy without them; give trials as well"),
    # What belongs together
    Row("check", "give a SUITE file, or both --base MODEL.gguf and --adapter ADAPTER.gguf, --candidate or --quantize"),
    Row("check --base base.gguf", "give a SUITE file, or both --base MODEL.gguf and --adapter ADAPTER.gguf"),
    Row(
        "sweep --base base.gguf",
        "give a SUITE file, or --base MODEL.gguf and --adapter ADAPTER.gguf or --quantize TYPE",
    ),
    Row("locate --base base.gguf", "give a SUITE file, or both --base MODEL.gguf and --adapter ADAPTER.gguf"),
    Row(f"check {FILES} --no-null --null-runs 2", "--no-null and --null-runs exclude each other; give one of them"),
    Row(f"sweep {FILES} --no-null --null-runs 2", "--no-null and --null-runs exclude each other; give one of them"),
    Row(f"locate {FILES} --no-null --null-runs 2", "--no-null and --null-runs exclude each other; give one of them"),
    Row(
        "check --base base.gguf --candidate base.gguf --quantize Q4_0",
        "--candidate and --quantize exclude each other; give one of them",
    ),
    Row(f"sweep {FILES} --cluster tcp://host:1 --workers 2", "--cluster and --workers exclude each other; give one"),
    Row(f"locate {FILES} --cluster tcp://host:1 --workers 2", "--cluster and --workers exclude each other; give one"),
    Row(
        "check --like report.json --seed 3",
        "--like takes models, cases and settings from its report; give nothing else",
    ),
    Row("demo --adapter qwen-terse", "qwen-terse is made for another model; give --model qwen"),
    # Where to write
    Row(f"check {FILES} --html there/a.html", "--html there/a.html: the folder does not exist; make it first"),
    Row(f"check {FILES} --json peft", "'--json': File 'peft' is a directory."),
    Row(f"locate {FILES} --write there/a.gguf", "--write there/a.gguf: the folder does not exist; make it first"),
    Row(f"sweep {FILES} --csv there/a.csv", "--csv there/a.csv: the folder does not exist; make it first"),
    Row(f"sweep {FILES} --reports there/a", "--reports there/a: the folder above it does not exist; make it first"),
    # What stands in another's place
    Row(
        "check --base adapter.gguf --adapter adapter.gguf",
        "adapter.gguf: this is a LoRA adapter, not a model; "
        "`loracheck check --base MODEL.gguf --adapter adapter.gguf` checks it",
    ),
    Row(
        "check --base base.gguf --adapter base.gguf",
        "base.gguf: this is a model (llama, 9 tensors), not a LoRA adapter; "
        "`loracheck check --base base.gguf --adapter ADAPTER.gguf` checks an adapter on it, "
        "`loracheck check --base MODEL.gguf --candidate base.gguf` the model itself",
    ),
    Row(
        "check --base peft --adapter adapter.gguf",
        "peft: this is a PEFT adapter folder, not a model; `loracheck check --base MODEL.gguf --adapter peft` checks",
    ),
    Row(
        "check --base my.yaml --adapter adapter.gguf",
        "my.yaml: this is a suite file; `loracheck check my.yaml` reads it",
    ),
    Row(
        "check --base report.json --adapter adapter.gguf",
        "report.json: this is a report of loracheck; `loracheck report",
    ),
    Row(
        "check --base base.gguf --adapter my.yaml", "my.yaml: this is a suite file; `loracheck check my.yaml` reads it"
    ),
    Row("check --like my.yaml", "my.yaml: this is a suite file, not a report; `loracheck check my.yaml` reads it"),
    Row(
        "check --base base.gguf --candidate adapter.gguf",
        "adapter.gguf: this is a LoRA adapter, not a model; `loracheck",
    ),
    Row(
        "quantize adapter.gguf --to Q4_0 -o q.gguf",
        "adapter.gguf: this is a LoRA adapter, not a model; `loracheck check",
    ),
    Row(
        "convert adapter.gguf --base base.gguf -o a.gguf",
        "adapter.gguf: this is a LoRA adapter, not a PEFT adapter folder; `loracheck check --base MODEL.gguf --adapter",
    ),
    Row("null --like base.gguf -o n.gguf", "base.gguf: this is a model (llama, 9 tensors), not a LoRA adapter; "),
    Row("inspect peft", "peft: this is a PEFT adapter folder; convert it with `loracheck convert`"),
    Row("inspect my.yaml", "my.yaml: this is a suite file; `loracheck check my.yaml` reads it"),
    Row("report base.gguf", "base.gguf: this is a model, not a report; `loracheck check --base base.gguf"),
    Row(
        "report my.json",
        "my.json: not a loracheck report; `loracheck check ... --json REPORT.json`",
        file("my.json", "{}"),
    ),
    Row("diff report.json my.yaml", "my.yaml: this is a suite file, not a report; `loracheck check my.yaml` reads it"),
]
