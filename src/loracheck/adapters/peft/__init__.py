"""PEFT adapter folders: read, matched with a base, and written as the GGUF file that llama.cpp loads."""

from loracheck.adapters.peft.cached import converted
from loracheck.adapters.peft.convert import Conversion, convert
from loracheck.adapters.peft.folder import is_peft_folder

__all__ = ["Conversion", "convert", "converted", "is_peft_folder"]
