"""The same three turns in each API: think and call the tool echo, answer, say a word in the second step."""


def chat(delta, finish=None, usage=None):
    events = [{"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}]
    if usage:
        events.append({"choices": [], "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}})
    return events


def chat_call(arguments, index=0, name="echo", call_id="call_a"):
    return {"tool_calls": [{"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}]}


def chat_turns():
    return [chat({"role": "assistant", "reasoning_content": "hm"}) + chat(chat_call('{"text":'))
            + chat({"tool_calls": [{"index": 0, "function": {"arguments": '"hé"}'}}]}) + chat({}, "tool_calls", (10, 5)),
            chat({"content": "done"}) + chat({}, "stop", (20, 2)),
            chat({"content": "bye"}) + chat({}, "stop", (30, 1))]


def messages(usage, stop, *blocks):
    events = [{"type": "message_start", "message": {"usage": {"input_tokens": usage[0], "output_tokens": 1}}}]
    for i, (start, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": i, "content_block": start})
        events += [{"type": "content_block_delta", "index": i, "delta": one} for one in deltas]
        events.append({"type": "content_block_stop", "index": i})
    return events + [{"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": usage[1]}},
                     {"type": "message_stop"}]


def text_block(text):
    return {"type": "text", "text": ""}, [{"type": "text_delta", "text": text}]


def messages_turns():
    think = ({"type": "thinking", "thinking": "", "signature": ""},
             [{"type": "thinking_delta", "thinking": "hm"}, {"type": "signature_delta", "signature": "signed:hm"}])
    call = ({"type": "tool_use", "id": "call_a", "name": "echo", "input": {}},
            [{"type": "input_json_delta", "partial_json": part} for part in ("", '{"text":', '"hé"}')])
    return [messages((10, 5), "tool_use", think, call), messages((20, 2), "end_turn", text_block("done")),
            messages((30, 1), "end_turn", text_block("bye"))]


def responses(usage, *items):
    events = [{"type": "response.created", "response": {}}]
    for i, item in enumerate(items):
        events.append({"type": "response.output_item.done", "output_index": i, "item": item})
    return events + [{"type": "response.completed", "response": {"usage": {"input_tokens": usage[0],
                                                                           "output_tokens": usage[1]}}}]


def responses_turns():
    def said(text):
        return {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    think = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}],
             "encrypted_content": "enc:hm"}
    call = {"type": "function_call", "id": "fc", "call_id": "call_a", "name": "echo", "arguments": '{"text":"hé"}'}
    return [responses((10, 5), think, call), responses((20, 2), said("done")), responses((30, 1), said("bye"))]


def gemini(usage, *parts):
    def chunk(parts, **rest):
        return {"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0, **rest}]}
    return [*(chunk([part]) for part in parts),
            chunk([], finishReason="STOP") | {"usageMetadata": {"promptTokenCount": usage[0], "candidatesTokenCount": usage[1]}}]


def gemini_turns():
    call = {"functionCall": {"id": "call_a", "name": "echo", "args": {"text": "hé"}}, "thoughtSignature": "signed:echo"}
    return [gemini((10, 5), {"text": "h", "thought": True}, {"text": "m", "thought": True}, call),
            gemini((20, 2), {"text": "do"}, {"text": "ne"}), gemini((30, 1), {"text": "bye"})]


DIALECTS = {"openai_compatible/m": chat_turns, "anthropic/m": messages_turns, "openai_responses/m": responses_turns,
            "gemini/m": gemini_turns}
