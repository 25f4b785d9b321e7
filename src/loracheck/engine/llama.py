"""llama.cpp behind the engine protocol: a model is loaded once, its adapters once, and switched per view."""

from __future__ import annotations

import ctypes
import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from loracheck.engine import Completion, Fingerprint, Identity, Prompt, Settings, Trace, View
from loracheck.engine.adapters import LoadedAdapters
from loracheck.engine.cuts import BetweenTiles, Cuts, InBlocks
from loracheck.engine.decode import Finished, Followed, Job, decode
from loracheck.engine.identity import llama_identity
from loracheck.engine.llama_context import LlamaContext
from loracheck.engine.native import capture_log, forget_log, last_words, llama_cpp
from loracheck.engine.prompts import read_prompt
from loracheck.engine.rows import WIDTH, promised_rows, rows_of, whole_pages
from loracheck.engine.sampling import sampler
from loracheck.errors import CasesError, EngineError, ModelError
from loracheck.models.model import read_model_header
from loracheck.pace import Tick, no_tick


class LlamaEngine:
    """llama.cpp in this process: one model at a time, loaded when a view of it is asked. Close it, or use `with`."""

    def __init__(self, settings: Settings, *, share_prefixes: bool = True, tick: Tick = no_tick) -> None:
        self._settings = settings
        self._share_prefixes = share_prefixes
        self._tick = tick
        self._loaded: _Model | None = None
        self.load_seconds = 0.0

    def __enter__(self) -> LlamaEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def identity(self) -> Identity:
        return llama_identity(self._settings)

    def answer(self, view: View, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        return self.load(view.model).answer(view, prompts, share=self._share_prefixes)

    def fingerprint(self, view: View, text: str) -> Fingerprint:
        return self.load(view.model).fingerprint(view, text)

    def close(self) -> None:
        if self._loaded is not None:
            self._loaded.close()
            self._loaded = None

    def has_loaded(self, model: Path) -> bool:
        return self._loaded is not None and self._loaded.path == model

    def load(self, model: Path) -> _Model:
        """Load a model that is not there yet. Another one makes room for it first: two may not fit in memory."""
        if self._loaded is None or self._loaded.path != model:
            self.close()
            started = time.perf_counter()
            self._loaded = _Model(model, self._settings, self._tick)
            self.load_seconds += time.perf_counter() - started
        return self._loaded


class _Model:
    """A GGUF model in memory, with the adapters that its views have used so far."""

    def __init__(self, path: Path, settings: Settings, tick: Tick) -> None:
        self.path = path
        self._settings = settings
        self._tick = tick
        self._context: LlamaContext | None = None
        # LongRoPE models pick their numbers by the size of the context, so theirs must not depend on the prompts.
        self._header = read_model_header(path)
        self._fixed_context = any(tensor.name.startswith("rope_factors_long") for tensor in self._header.tensors)
        self._promised = promised_rows(self._header, gpu_layers=settings.gpu_layers)
        capture_log()
        llama_cpp.llama_backend_init()
        params = llama_cpp.llama_model_default_params()
        params.n_gpu_layers = settings.gpu_layers

        @llama_cpp.llama_progress_callback  # type: ignore[untyped-decorator]
        def going_on(*_: Any) -> bool:
            tick()
            return True

        params.progress_callback = going_on
        forget_log()
        self._model = llama_cpp.llama_model_load_from_file(os.fsencode(path), params)
        if not self._model:
            words = last_words()
            error = ModelError if "unknown model architecture" in words else EngineError
            raise error(f"{path}: llama.cpp could not load the model\n{words}")
        self._adapters = LoadedAdapters(self._model, fill_up=self._promised is not None)
        if llama_cpp.llama_model_has_encoder(self._model):
            self.close()
            raise ModelError(f"{path}: an encoder-decoder model; loracheck needs a decoder-only one")
        self._vocab = llama_cpp.llama_model_get_vocab(self._model)
        self._n_vocab = llama_cpp.llama_vocab_n_tokens(self._vocab)
        self._cuts: Cuts = InBlocks(self._ends_generation)
        if self._promised:
            self._cuts = BetweenTiles(self._promised)
        # A recurrent state can't be cut back to a prefix.
        self._can_cut = not (
            llama_cpp.llama_model_is_recurrent(self._model) or llama_cpp.llama_model_is_hybrid(self._model)
        )

    def close(self) -> None:
        self._drop_context()
        self._adapters.close()
        if self._model:
            llama_cpp.llama_model_free(self._model)
            self._model = None

    def answer(self, view: View, prompts: Sequence[Prompt], *, share: bool) -> Iterator[tuple[int, Completion]]:
        jobs = [self._job(index, prompt) for index, prompt in enumerate(prompts)]
        if not jobs:
            return
        longest = max(
            len(job.tokens) + max(job.max_new_tokens, len(job.follow.tokens) if job.follow else 0) for job in jobs
        )
        with self._view(view, longest, len(jobs)) as ctx:
            for done in decode(ctx, jobs, self._ends_generation, self._cuts, share=share and self._can_cut):
                index, pieces = done.job.index, [self._piece(token) for token in done.tokens]
                yield (
                    index,
                    Completion(
                        text=b"".join(pieces).decode("utf-8", "replace"),
                        tokens=done.tokens,
                        prompt_tokens=len(done.job.tokens),
                        truncated=done.truncated,
                        trace=self._trace(done, prompts[index].follow),
                    ),
                )

    def fingerprint(self, view: View, text: str) -> Fingerprint:
        tokens = self._tokenize(text)
        with self._view(view, len(tokens), 1) as ctx:
            logits = read_prompt(ctx, 0, tokens, self._cuts)  # (n_vocab,)
            digest = hashlib.sha256(logits.tobytes()).hexdigest()
            return Fingerprint(digest, bool(np.isfinite(logits).all()))

    @contextmanager
    def _view(self, view: View, n_ctx: int, jobs: int) -> Iterator[LlamaContext]:
        """A context for so many jobs, with the view's adapters on and nothing remembered; bare and empty afterwards.

        KV memory computed under one set of adapters is wrong under any other.
        """
        handles = self._adapters.handles([use.source for use in view.adapters])
        width = view.width or self._settings.parallel or WIDTH
        ctx = self._context_of(n_ctx, width, jobs)
        ctx.clear()
        ctx.set_adapters(handles, [use.scale for use in view.adapters])
        try:
            yield ctx
        except EngineError as error:
            raise EngineError(f"{view.name} view: {error}") from error
        finally:
            ctx.set_adapters([], [])
            ctx.clear()

    def _context_of(self, n_ctx: int, width: int, jobs: int) -> LlamaContext:
        """The context, with no more streams than there are jobs: each costs memory. Kept for whoever needs the same."""
        limit = self._limit()
        wanted = limit if self._fixed_context else min(limit, whole_pages(n_ctx))
        rows = rows_of(self._header, gpu_layers=self._settings.gpu_layers, width=width)
        streams = rows.holding(jobs, width)
        most = max(streams, self._cuts.most_rows(n_ctx))
        kept = self._context
        if kept is None or kept.n_ctx < wanted or kept.width != streams or kept.most < most:
            self._drop_context()
            kept = self._context = LlamaContext(
                self._model,
                self._n_vocab,
                n_ctx=wanted,
                width=streams,
                rows=rows,
                most=most,
                threads=self._settings.threads,
                tick=self._tick,
                flash=self._promised is not None,
                reading=self._promised if self._can_cut and self._promised and self._promised.has(streams) else None,
            )
        return kept

    def _drop_context(self) -> None:
        if self._context is not None:
            self._context.close()
            self._context = None

    def _limit(self) -> int:
        trained = int(llama_cpp.llama_model_n_ctx_train(self._model))
        return min(self._settings.n_ctx, trained)

    def _job(self, index: int, prompt: Prompt) -> Job:
        tokens = self._tokenize(prompt.text)
        limit = self._limit()
        if not tokens:
            raise CasesError(f"case {prompt.id}: the prompt is empty")
        if len(tokens) >= limit:
            raise CasesError(
                f"case {prompt.id}: the prompt has {len(tokens)} tokens and the context holds {limit}; "
                "shorten the prompt, or raise --n-ctx if the model allows it"
            )
        follow = Followed(prompt.follow.tokens, prompt.follow.candidates) if prompt.follow and self._can_cut else None
        draw = sampler(prompt.attempt, prompt.text) if prompt.attempt else None
        return Job(
            index, prompt.id, tokens, prompt.max_new_tokens, prompt.traced, follow, prompt.known, draw, prompt.draft
        )

    def _tokenize(self, text: str) -> tuple[int, ...]:
        """Special tokens written in the text are recognised; BOS is added where the model's metadata says so."""
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        buffer = (llama_cpp.llama_token * room)()
        count = llama_cpp.llama_tokenize(self._vocab, data, len(data), buffer, room, True, True)
        if count < 0:
            raise EngineError(f"llama.cpp could not tokenize a text of {len(data)} bytes")
        tokens = tuple(buffer[:count])
        bos = llama_cpp.llama_vocab_bos(self._vocab)
        if llama_cpp.llama_vocab_get_add_bos(self._vocab) and tokens[:2] == (bos, bos):
            # Many chat templates write BOS themselves.
            tokens = tokens[1:]
        if llama_cpp.llama_vocab_get_add_eos(self._vocab):
            # An end token after the prompt would end the conversation before the answer.
            tokens = tokens[:-1]
        return tokens

    def _trace(self, done: Finished, followed: Trace | None) -> Trace | None:
        if done.expected is None:
            return None
        tokens = followed.tokens if followed else done.tokens
        return Trace(
            tokens=tokens,
            ends=tuple(accumulate(len(self._piece(token)) for token in tokens)),
            candidates=tuple(place.candidates for place in done.expected),
            log_probs=tuple(place.log_probs for place in done.expected),
            top=tuple(self._piece(place.top).decode("utf-8", "replace") for place in done.expected),
        )

    def _piece(self, token: int) -> bytes:
        # Special tokens are kept: several dialects mark a call with one.
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            count = llama_cpp.llama_token_to_piece(self._vocab, token, buffer, size, 0, True)
            if count >= 0:
                return buffer.raw[:count]
            size = -count

    def _ends_generation(self, token: int) -> bool:
        return bool(llama_cpp.llama_vocab_is_eog(self._vocab, token))
