import pytest

from loracheck.scoring import Answer
from loracheck.scoring.dialects import DIALECTS, Detection, detect
from loracheck.scoring.spoken import written_in

from .answers import GOOD, JSON

# Written for these tests, in the shapes that templates have.
CALLS = "{% for call in message.tool_calls %}"
TEMPLATES = {
    "hermes": CALLS
    + r"""{{ '<tool_call>\n{"name": "' + call.name + '", "arguments": ' + (call.arguments | tojson) }}""",
    "tool_calls": r"""{{ '<tool_calls>[' }}""" + CALLS,
    "granite": "Answer with <|tool_call|> and a JSON list of tools.",
    "phi4": "{{ '<|tool|>' + message.tools + '<|/tool|>' }}",
    "gigachat": CALLS + "{{ '<|function_call|>' + call }}",
    "apertus": "{%- set tool_calls_token = '<|tools_prefix|>' -%}" + CALLS + """{{ '{"' + call.name + '": ' }}""",
    "internlm2": CALLS + r"""{{ '<|action_start|><|plugin|>\n{"name": "' + call.name }}""",
    "inkling": CALLS + "<|message_model|>{{ call.name }}<|content_invoke_tool_json|>{{ call | tojson }}<|end_message|>",
    "function_call": CALLS + "{{ '<function_call> ' + {'name': call.name, 'arguments': call.arguments} | tojson }}",
    "mistral": CALLS + "{{ '[TOOL_CALLS]' + call.name + '[ARGS]' + call.arguments }}",
    "command_r": CALLS + """<|START_ACTION|>[{"tool_name": "{{ call.name }}"}]<|END_ACTION|>""",
    "function_tag": CALLS + "{{ '<function=' + call.name + '>' + (call.arguments | tojson) + '</function>' }}",
    "functionary": r"{{ '>>>all\n' + message.content }}",
    "deepseek_r1": CALLS + r"{{ '<｜tool▁sep｜>' + call.name + '\n```json\n' + call.arguments }}",
    "deepseek_v3": CALLS + "{{ call.name + '<｜tool▁sep｜>' + call.arguments + '<｜tool▁call▁end｜>' }}",
    "kimi_k2": CALLS
    + "<|tool_call_begin|>{{ call.id }}<|tool_call_argument_begin|>{{ call.arguments }}<|tool_call_end|>",
    "solar": CALLS + "<|tool_call:name|>{{ call.name }}<|tool_call:args|>{{ call.arguments }}",
    "qwen3_coder": CALLS
    + r"{{ '<tool_call>\n<function=' + call.name + '>\n<parameter=' + key + '>' + value | tojson }}",
    "glm": CALLS + "<tool_call>{{ call.name }}<arg_key>{{ key }}</arg_key><arg_value>{{ value | tojson }}</arg_value>",
    "invoke": CALLS + """{{ '<invoke name="' + call.name + '"><parameter name="' + key + '">' + value }}""",
    "minimax_m3": "{%- set ns = ']<]minimax[>[' -%}" + CALLS + """{{ ns + '<invoke name="' + call.name + '">' }}""",
    "kimi_k3": "{%- macro open_tag(tag) -%}{{ '<|open|>' + tag + '<|sep|>' }}{%- endmacro -%}{{ open_tag('tools') }}",
    "hy3": "{% set s = ':open' %}{% set sep = '<tool_sep{}>'.format(s) %}{% set key = '<arg_key{}>'.format(s) %}",
    "muse": CALLS + """{{ '<atem:invoke name="' + call.name + '"><atem:parameter name="' + key + '">' + value }}""",
    "minicpm": CALLS + """{{ '<function name="' + call.name + '"><param name="' + key + '">' + value }}""",
    "olmo3": CALLS + "<function_calls>{{ call.name }}({{ call.arguments }})</function_calls>",
    "pythonic": "{% if tools %}List of tools: <|tool_list_start|>[{{ tools }}]<|tool_list_end|>{% endif %}",
    "gemma": CALLS + "<start_function_call>call:{{ call.name }}{ {{- call.arguments -}} }<end_function_call>",
    "harmony": "<|start|>assistant<|channel|>final<|message|>{{ message.content }}<|end|>",
    "llama3": r"Answer as {\"name\": the function, \"parameters\": dictionary of its arguments}.",
    "openai": """Answer with {"tool_calls": [...]}.""",
}


def test_there_is_a_template_for_each_but_plain_json():
    assert sorted([*TEMPLATES, "json"]) == sorted(DIALECTS)


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_tells_its_dialect_and_shows_why(name):
    template = "{% for message in messages %}{{ message.role }}{% endfor %}" + TEMPLATES[name]
    detection = detect(template)
    assert detection.name == name
    prefix = "the chat template writes "
    assert detection.why.startswith(prefix)
    assert detection.why.removeprefix(prefix) in template.replace('\\"', '"')


# Models whose format is another's under a name of their own.
RELATIVES = {
    "hermes": r"""{{ '<longcat_tool_call>\n{"name": "' + call.name + '", "arguments": ' + call.arguments }}""",
    "glm": "<longcat_tool_call>{{ call.name }}<longcat_arg_key>{{ key }}</longcat_arg_key><longcat_arg_value>",
    "invoke": """{{ '<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="' + call.name + '">' }}"""
    """{{ '<steptml:parameter name="' + key + '">' + value + '</steptml:parameter>' }}""",
    "hy3": "<tool_call>{{ call.name }}<tool_sep><arg_key>{{ key }}</arg_key><arg_value>{{ value }}</arg_value>",
    # Here the mark only separates what stands between calls.
    "minicpm": "{% set parts = content.split('<tool_sep>') %}" + TEMPLATES["minicpm"],
}


@pytest.mark.parametrize("name", RELATIVES)
def test_a_template_tells_whose_relative_it_is(name):
    assert detect(CALLS + RELATIVES[name]).name == name


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (None, "the model has no chat template"),
        ("", "the model has no chat template"),
        ("{% for m in messages %}{{ m.content }}{% endfor %}", "the chat template does not mention tools"),
        (
            "{% if tools %}{{ tools | tojson }}{% endif %}{{ messages }}",
            "the chat template takes tools, but writes calls in no dialect known here",
        ),
    ],
)
def test_without_a_dialect_it_is_plain_json_and_says_why(template, why):
    assert detect(template) == Detection("json", why)


@pytest.mark.parametrize("name", sorted(GOOD.keys() - {"json"}))
def test_an_answer_in_another_dialect_is_told_apart(name):
    used = "hermes" if name == "mistral" else "mistral"
    # Granite and Phi-4 write the same mark.
    assert written_in(Answer(GOOD[name]), used) == ("granite" if name == "phi4" else name)


@pytest.mark.parametrize("text", [JSON, f"Sure:\n```json\n{JSON}\n```"])
def test_bare_json_is_plain_json_and_none_of_its_relatives(text):
    assert written_in(Answer(text), "hermes") == "json"


@pytest.mark.parametrize("name", sorted(GOOD))
def test_an_answer_in_its_own_dialect_is_no_other(name):
    assert written_in(Answer(GOOD[name]), name) == name


@pytest.mark.parametrize(
    "text", ["", "Hello.", '{"a": 1}', '{"name": "f"}', "<tool_call>{bad</tool_call>", '{"name": 1, "arguments": {}}']
)
def test_what_has_no_whole_call_speaks_no_other_dialect(text):
    assert written_in(Answer(text), "mistral") is None
