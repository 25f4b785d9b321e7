"""Answers in every dialect: one good call, and how each dialect writes it."""

CALL = {"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}
ARGS = '{"city": "Oslo", "days": 3}'
JSON = '{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}'
LLAMA = '{"name": "get_weather", "parameters": {"city": "Oslo", "days": 3}}'

GOOD = {
    "json": JSON,
    "hermes": f"<tool_call>\n{JSON}\n</tool_call>",
    "tool_calls": f"<tool_calls>[{JSON}]</tool_calls>",
    "granite": f"<|tool_call|>[{JSON}]",
    "phi4": f"<|tool_call|>[{JSON}]<|/tool_call|>",
    "gigachat": f"<|function_call|>{JSON}",
    "mistral": f"[TOOL_CALLS][{JSON}]",
    "apertus": f'<|tools_prefix|>[{{"get_weather": {ARGS}}}]<|tools_suffix|>',
    "internlm2": f"<|action_start|><|plugin|>\n{LLAMA}<|action_end|>",
    "inkling": '<|message_model|>get_weather<|content_invoke_tool_json|>{"name": "get_weather", "args": '
    + ARGS
    + "}<|end_message|>",
    "function_call": f"<function_call> {JSON}",
    "command_r": '<|START_ACTION|>[\n  {"tool_call_id": "0", "tool_name": "get_weather", "parameters": '
    + ARGS
    + "}\n]<|END_ACTION|>",
    "function_tag": f"<function=get_weather>{ARGS}</function>",
    "functionary": f">>>get_weather\n{ARGS}",
    "deepseek_r1": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n"
    + ARGS
    + "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "deepseek_v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
    + ARGS
    + "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "kimi_k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
    + ARGS
    + "<|tool_call_end|><|tool_calls_section_end|>",
    "solar": f"<|tool_call:begin|>a1<|tool_call:name|>get_weather<|tool_call:args|>{ARGS}<|tool_call:end|>",
    "qwen3_coder": "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n"
    "</parameter>\n</function>\n</tool_call>",
    "glm": "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n"
    "<arg_value>3</arg_value>\n</tool_call>",
    "invoke": '<minimax:tool_call>\n<invoke name="get_weather"><parameter name="city">Oslo</parameter>\n'
    '<parameter name="days">3</parameter>\n</invoke>\n</minimax:tool_call>',
    "minimax_m3": ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="get_weather">'
    "]<]minimax[>[<city>Oslo]<]minimax[>[</city>"
    "]<]minimax[>[<days>3]<]minimax[>[</days>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    "kimi_k3": '<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|>'
    '<|open|>argument key="city" type="string"<|sep|>Oslo<|close|>argument<|sep|>'
    '<|open|>argument key="days" type="number"<|sep|>3<|close|>argument<|sep|>'
    "<|close|>call<|sep|><|close|>tools<|sep|>",
    "hy3": "<tool_calls>\n<tool_call>get_weather<tool_sep>\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n"
    "<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>\n</tool_calls>",
    "muse": '<|start|>assistant to=get_weather<|message|><atem:function_calls>\n<atem:invoke name="get_weather">\n'
    '<atem:parameter name="city">Oslo</atem:parameter>\n<atem:parameter name="days">3</atem:parameter>\n'
    "</atem:invoke>\n</atem:function_calls><|eom|>",
    "minicpm": '<function name="get_weather"><param name="city">Oslo</param><param name="days">3</param></function>',
    "olmo3": "<function_calls>\nget_weather(city='Oslo', days=3)\n</function_calls>",
    "pythonic": '[get_weather(city="Oslo", days=3)]',
    "gemma": "<start_function_call>call:get_weather{city:<escape>Oslo<escape>,days:3}<end_function_call>",
    "harmony": f"<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{ARGS}<|call|>",
    "llama3": LLAMA,
    "openai": '{"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": '
    '{"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\", \\"days\\": 3}"}}]}',
}
