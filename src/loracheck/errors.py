"""Every error a user can meet, with the exit code it ends the program with.

LoracheckError
├── InputError (2)          a file or an option is wrong
│   ├── SuiteError          the suite file
│   ├── CasesError          a file of cases, or one case in it
│   ├── ModelError          the base model file
│   ├── AdapterError        an adapter file
│   └── ReportError         a saved report
├── EngineError (3)         llama.cpp failed
└── NoEffectError (4)       the adapter changes nothing

A message says which file, which place, what is wrong and how to mend it: it is printed as it is, without a traceback.
"""


class LoracheckError(Exception):
    """Base of the tree. `exit_code` is what the command line ends with."""

    exit_code = 1


class InputError(LoracheckError):
    exit_code = 2


class SuiteError(InputError):
    pass


class CasesError(InputError):
    pass


class ModelError(InputError):
    pass


class AdapterError(InputError):
    pass


class ReportError(InputError):
    pass


class EngineError(LoracheckError):
    exit_code = 3


class NoEffectError(LoracheckError):
    exit_code = 4
