"""How much memory a model will take, told from its header: the weights, and a context for the cases at hand."""

from __future__ import annotations

from dataclasses import dataclass, replace

from loracheck.engine import Settings
from loracheck.engine.cuts import BATCH, BLOCK
from loracheck.engine.rows import WIDTH, promised_rows, rows_of, whole_pages
from loracheck.models.gguf_file import GgufFile
from loracheck.text import byte_size

# KV memory is F16.
_KV_BYTES = 2
# Python with numpy and llama.cpp, in the child and beside it.
_PROCESSES = 150_000_000


@dataclass(frozen=True, slots=True)
class Need:
    """In bytes."""

    weights: int
    context: int
    """KV memory: streams times tokens times layers times heads."""
    rest: int
    """Adapters, what a batch is computed in, and the processes; about."""

    @property
    def least(self) -> int:
        """What is sure to be needed."""
        return self.weights + self.context

    @property
    def whole(self) -> int:
        return self.least + self.rest

    def __str__(self) -> str:
        return f"about {byte_size(self.whole)} (weights {byte_size(self.weights)}, context {byte_size(self.context)})"


@dataclass(frozen=True, slots=True)
class Load:
    """What a model is opened for."""

    header: GgufFile
    size: int
    """Of all its files, in bytes."""
    adapters: int
    """Likewise."""
    jobs: int
    """Answers to compute under one view, at the most."""
    prompt: int
    """The longest prompt, in tokens."""
    answer: int
    """The longest answer."""
    settings: Settings
    width: int | None = None
    """Of the view's own."""

    @property
    def need(self) -> Need:
        n_ctx = min(whole_pages(self.prompt + self.answer), self._limit)
        return Need(self.size, self.streams * n_ctx * kv_bytes(self.header), self._rest(n_ctx))

    @property
    def streams(self) -> int:
        """As many as there are jobs, at most the width; and one that holds what prompts share."""
        width = self.width or self.settings.parallel or WIDTH
        return rows_of(self.header, gpu_layers=self.settings.gpu_layers, width=width).holding(self.jobs, width) + 1

    @property
    def _limit(self) -> int:
        return min(self.settings.n_ctx, _number(self.header, "context_length") or self.settings.n_ctx)

    def _rest(self, n_ctx: int) -> int:
        n_vocab = self.header.array_length("tokenizer.ggml.tokens") or 0
        heads = max(_per_layer(self.header, "attention.head_count"), default=0)
        # Flash attention never has the whole of it at hand.
        flash = promised_rows(self.header, gpu_layers=self.settings.gpu_layers) is not None
        attention = BATCH * n_ctx if flash else BLOCK * heads * n_ctx
        # What is computed, what is handed out, and what is compared.
        batch = 3 * 4 * (BLOCK * n_vocab + attention)
        return self.adapters + batch + _PROCESSES

    def fitting(self, room: int) -> Fitting | None:
        """With as little changed as does; None where no options do."""
        shortest = whole_pages(self.prompt + self.prompt // 4 + 1)
        for n_ctx in dict.fromkeys((self.settings.n_ctx, min(shortest, self.settings.n_ctx))):
            for parallel in range(self.streams - 2, 0, -1):
                smaller = replace(self, settings=replace(self.settings, parallel=parallel, n_ctx=n_ctx), width=None)
                if smaller.need.whole <= room:
                    shorter = "" if n_ctx == self.settings.n_ctx else f" --n-ctx {n_ctx}"
                    return Fitting(f"--parallel {parallel}{shorter}", smaller.need)
        return None


@dataclass(frozen=True, slots=True)
class Fitting:
    options: str
    need: Need


def kv_bytes(header: GgufFile) -> int:
    """For one token of one stream."""
    heads = _per_layer(header, "attention.head_count")
    kv_heads = _per_layer(header, "attention.head_count_kv") or heads
    # Models of two minds remember every token in some of their layers only.
    attending = kv_heads[:: _number(header, "full_attention_interval") or 1]
    wide = (_number(header, "embedding_length") or 0) // max(1, *heads) if heads else 0
    keys = _number(header, "attention.key_length") or wide
    values = _number(header, "attention.value_length") or wide
    if _number(header, "attention.key_length_mla"):
        # Latent attention finds its values in its keys.
        values = 0
    return sum(attending) * (keys + values) * _KV_BYTES


def _number(header: GgufFile, name: str) -> int | None:
    return header.whole_number(f"{header.text('general.architecture')}.{name}")


def _per_layer(header: GgufFile, name: str) -> list[int]:
    """One for each layer: some models have as many heads everywhere, others say for each."""
    layers = _number(header, "block_count") or 0
    alike = _number(header, name)
    if alike is not None:
        return [alike] * layers
    key = f"{header.text('general.architecture')}.{name}"
    each = (header.array_item(key, layer) for layer in range(header.array_length(key) or 0))
    return [number for number in each if isinstance(number, int)]
