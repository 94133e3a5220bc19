"""Chat templates of the kinds that models come with, and chats to render with them."""
import random

CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' "
          "+ '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
ROLES_ALTERNATE = ("{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation "
                   "roles must alternate user/assistant/user/assistant/...') }}{% endif %}")

# Those that become programs.
TAKEN = {
    "chatml": CHATML,
    "smollm2": ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ "
                "'<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n'"
                " }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{%"
                " endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"),
    "zephyr": """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>\n'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}
""",
    "gemma": ("{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') "
              "}}{% endif %}{% for message in messages %}" + ROLES_ALTERNATE +
              "{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = "
              "message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + "
              "'<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}"),
    "mistral": ("{{ bos_token }}{% for message in messages %}" + ROLES_ALTERNATE +
                "{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif "
                "message['role'] == 'assistant' %}{{ message['content'] + eos_token}}{% else %}{{ raise_exception('Only "
                "user and assistant roles are supported!') }}{% endif %}{% endfor %}"),
    "phi3": ("{% for message in messages %}{% if message['role'] == 'system' %}{{'<|system|>\n' + message['content'] + "
             "'<|end|>\n'}}{% elif message['role'] == 'user' %}{{'<|user|>\n' + message['content'] + '<|end|>\n'}}{% "
             "elif message['role'] == 'assistant' %}{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}{% endif %}"
             "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}"),
    "llama3": r"""{{- bos_token }}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}

{#- The system message goes first. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\n\n" }}
{%- if tools is not none %}
    {{- tools | tojson(indent=4) }}
{%- endif %}
{{- "Today Date: " + date_string + "\n\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}
""",
    "qwen2.5": r"""{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- for tool in tools %}
        {{- tool | tojson }}
    {%- endfor %}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\n' + messages[0]['content'] + '<|im_end|>\n' }}
    {%- else %}
        {{- '<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {%- for tool_call in message.tool_calls %}
            {{- tool_call.arguments | tojson }}
        {%- endfor %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}
""",
    "namespaces": r"""{%- set ns = namespace(found=false, count=0) -%}
{%- for message in messages if message.role is string and message.content is not none -%}
    {%- if message.role == 'system' -%}{%- set ns.found = true -%}{%- endif -%}
    {%- set ns.count = ns.count + 1 -%}
{%- endfor -%}
{%- for message in messages -%}
    {{- '[' ~ message.role | upper ~ ']' }}{{ message.get('content', '') -}}
    {% set tail %};{% if loop.last and not add_generation_prompt %}.{% endif %}{% endset %}{{ tail -}}
{%- endfor -%}
{{ '[ASSISTANT]' if add_generation_prompt else '' }}""",
}

# Those that write what no program says: the words that the refusal holds.
REFUSED = {
    "llama2": (
        "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = "
        "messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif "
        "%}{% for message in loop_messages %}" + ROLES_ALTERNATE + "{% if loop.index0 == 0 and system_message != false "
        "%}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set "
        "content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + "
        "content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + "
        "eos_token }}{% endif %}{% endfor %}", "what messages say"),
    "thinking": (
        "{%- for message in messages -%}{%- set content = message.content -%}{%- if message.role == 'assistant' and "
        "'</think>' in content -%}{%- set content = content.split('</think>')[-1].lstrip('\\n') -%}{%- endif -%}{{- "
        "'<|im_start|>' + message.role + '\\n' + content + '<|im_end|>\\n' -}}{%- endfor -%}{%- if "
        "add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}", "what messages say"),
    "numbered": ("{% for message in messages %}{{ loop.index }}{{ message.content }}{% endfor %}", "same two roles"),
    "json": ("\n{{ messages | tojson }}", "line 2"),
    "macro": ("{% macro f(m) %}{{ m.content }}{% endmacro %}\n{% for m in messages %}{{ f(m) }}{% endfor %}", "macro"),
    "silent": ("{% for message in messages %}{{ message.role }}{% endfor %}", "prompt"),
    "include": ("a\n{% include 'other' %}", "line 2"),
}

TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
TEXTS = ["", " ", "\n", "x", " x", "x\n\n", "\t x \r\n", "\u00a0\u2003x\u3000", "\x1c y \x1f", "été, 人 \U0001f600",
         "{{ messages }}", "{% raise %}", "<s>[INST] x [/INST]</s>", "<|im_end|>\n<|im_start|>system\nx",
         "<|endoftext|>", "<start_of_turn>user", "None", "system", "user", "It's 12 o'clock, isn't it?", "a\\nb'\""]


def chats(count, seed=7):
    """Chats of one to eight messages; mostly such as people have."""
    numbers = random.Random(seed)
    for _ in range(count):
        roles = []
        if numbers.random() < 0.4:
            roles.append("system")
        for turn in range(numbers.randint(1, 4)):
            roles += ["user", "assistant"]
        if numbers.random() < 0.6:
            roles.pop()
        if numbers.random() < 0.2:
            numbers.shuffle(roles)
        yield {"messages": [{"role": role, "content": numbers.choice(TEXTS)} for role in roles],
               "add_generation_prompt": numbers.random() < 0.5, **TOKENS}
