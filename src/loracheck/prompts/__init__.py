"""From cases to the texts a model reads: bare prompts, or the model's own chat template with its tools."""

from loracheck.prompts.chat import ChatTemplate, render_chat

__all__ = ["ChatTemplate", "render_chat"]
