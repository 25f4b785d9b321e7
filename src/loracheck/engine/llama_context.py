"""A llama.cpp context as a few plain operations on numbered streams, each stream with KV memory of its own."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from loracheck.engine.context import DUMMY_TOKEN, End, filled_up
from loracheck.engine.native import forget_log, last_words, llama_cpp
from loracheck.engine.rows import Rows
from loracheck.errors import EngineError
from loracheck.pace import Tick

if TYPE_CHECKING:
    from numpy.typing import NDArray


class LlamaContext:
    """`width` streams to decode in step, and one more, the trunk, that holds prompt prefixes to copy from."""

    def __init__(
        self,
        model: Any,
        n_vocab: int,
        *,
        n_ctx: int,
        width: int,
        rows: Rows,
        most: int,
        threads: int,
        tick: Tick,
        flash: bool = False,
        reading: Rows | None = None,
    ) -> None:
        """A batch has `most` rows at the most; `tick` is called after each. `flash` is for flash attention."""
        self.width = width
        self.trunk = width
        self._rows = rows
        self.reading = reading
        self.most = most
        self.n_ctx = n_ctx
        self._tick = tick
        self._n_vocab = n_vocab
        params = llama_cpp.llama_context_default_params()
        params.n_seq_max = self.width + 1
        params.n_ctx = n_ctx * params.n_seq_max
        params.n_batch = params.n_ubatch = most
        params.n_threads = params.n_threads_batch = threads
        # One KV buffer a stream: in a unified one a case's sums would run over its neighbours' cells.
        params.kv_unified = False
        params.flash_attn_type = (
            llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED if flash else llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
        params.swa_full = True
        params.no_perf = True
        forget_log()
        self._ctx = llama_cpp.llama_init_from_model(model, params)
        if not self._ctx:
            raise EngineError(
                f"llama.cpp could not make a context of {params.n_seq_max} x {n_ctx} tokens; "
                f"a smaller --n-ctx or --parallel needs less memory\n{last_words()}"
            )
        self._memory = llama_cpp.llama_get_memory(self._ctx)
        self._batch = llama_cpp.llama_batch_init(most, 0, 1)
        self._tokens = np.ctypeslib.as_array(self._batch.token, (most,))  # (most,) int32
        self._positions = np.ctypeslib.as_array(self._batch.pos, (most,))  # (most,) int32
        self._wanted = np.ctypeslib.as_array(self._batch.logits, (most,))  # (most,) int8
        for row in range(most):
            self._batch.n_seq_id[row] = 1

    def close(self) -> None:
        if self._ctx:
            llama_cpp.llama_batch_free(self._batch)
            llama_cpp.llama_free(self._ctx)
            self._ctx = None

    def set_adapters(self, adapters: Sequence[Any], scales: Sequence[float]) -> None:
        handles = (llama_cpp.llama_adapter_lora_p_ctypes * len(adapters))(*adapters)
        factors = (ctypes.c_float * len(scales))(*scales)
        if llama_cpp.llama_set_adapters_lora(self._ctx, handles, len(adapters), factors):
            raise EngineError(f"llama.cpp refused the adapters\n{last_words()}")

    def clear(self) -> None:
        llama_cpp.llama_memory_clear(self._memory, True)

    def forget(self, stream: int, start: int = 0) -> None:
        if not llama_cpp.llama_memory_seq_rm(self._memory, stream, start or -1, -1):
            raise EngineError(f"llama.cpp could not drop stream {stream} from position {start}")

    def rows(self, live: int) -> int:
        return self._rows.holding(live, self.width)

    def copy(self, source: int, stream: int) -> None:
        llama_cpp.llama_memory_seq_cp(self._memory, source, stream, -1, -1)

    def read(self, stream: int, tokens: Sequence[int], start: int, end: int) -> NDArray[np.float32] | None:
        wanted = np.zeros((1, end - start), bool)
        wanted[0, -1] = is_last = end == len(tokens)
        self._read(stream, [tokens[start:end]], [start], wanted)
        return self._logits(1)[0] if is_last else None

    def read_ends(self, ends: Sequence[End]) -> NDArray[np.float32]:
        assert self.reading
        filled = filled_up(ends, self.reading)
        wanted = np.zeros((len(ends), filled), bool)
        last = [len(end.tokens) - 1 for end in ends]
        wanted[range(len(ends)), last] = True
        # Logits, too, have numbers of rows that compute the same.
        others = np.flatnonzero(~wanted)
        rows = self.reading.holding(len(ends), wanted.size)
        wanted.flat[others[: rows - len(ends)]] = True
        dummies = [[DUMMY_TOKEN] * (filled - len(end.tokens)) for end in ends]
        fed = [[*end.tokens, *more] for end, more in zip(ends, dummies, strict=True)]
        self._read(ends[0].stream, fed, [end.start for end in ends], wanted)
        for end, more in zip(ends, dummies, strict=True):
            if more:
                self.forget(end.stream, len(end.prompt))
        places = np.cumsum(wanted).reshape(wanted.shape)[range(len(ends)), last] - 1
        logits: NDArray[np.float32] = self._logits(rows)[places]  # (ends, n_vocab)
        return logits

    def read_all(self, stream: int, tokens: Sequence[int], start: int) -> NDArray[np.float32]:
        self._read(stream, [tokens], [start], np.ones((1, len(tokens)), bool))
        return self._logits(len(tokens))

    def step(self, tokens: Sequence[Sequence[int]], starts: Sequence[int]) -> NDArray[np.float32]:
        streams, each = len(tokens), len(tokens[0])
        self._feed(0, tokens, starts, np.ones((streams, each), bool))
        # A stream without a case stays at position 0.
        self._tick(written=int(np.count_nonzero(starts)))
        return self._logits(streams * each).reshape(streams, each, -1)

    def _read(
        self, stream: int, tokens: Sequence[Sequence[int]], starts: Sequence[int], wanted: NDArray[np.bool_]
    ) -> None:
        self._feed(stream, tokens, starts, wanted)
        self._tick(read=wanted.size)

    def _feed(
        self, first: int, tokens: Sequence[Sequence[int]], starts: Sequence[int], wanted: NDArray[np.bool_]
    ) -> None:
        """As many tokens for each stream from `first` on; logits are computed where they are `wanted`."""
        n, each = wanted.size, wanted.shape[1]
        self._tokens[:n] = np.concatenate(tokens)
        self._positions[:n] = np.add.outer(starts, np.arange(each)).reshape(-1)
        self._wanted[:n] = wanted.reshape(-1)
        for row in range(n):
            self._batch.seq_id[row][0] = first + row // each
        self._decode(n)

    def _decode(self, n: int) -> None:
        self._batch.n_tokens = n
        status = llama_cpp.llama_decode(self._ctx, self._batch)
        if status:
            raise EngineError(f"llama_decode failed with {status}\n{last_words()}")

    def _logits(self, rows: int) -> NDArray[np.float32]:
        pointer = llama_cpp.llama_get_logits(self._ctx)
        return np.ctypeslib.as_array(pointer, (rows, self._n_vocab))  # (rows, n_vocab)
