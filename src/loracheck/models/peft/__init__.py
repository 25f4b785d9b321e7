"""PEFT adapter folders: read, matched with a base, and written as the GGUF file that llama.cpp loads."""

from loracheck.models.peft.config import is_peft_folder, source_hashes
from loracheck.models.peft.convert import Conversion, Converted, convert, converted

__all__ = ["Conversion", "Converted", "convert", "converted", "is_peft_folder", "source_hashes"]
