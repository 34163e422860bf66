"""What an agent does with the canaries in one run."""

from __future__ import annotations

import contextlib


def steps(run, material):
    """Take a model step that is told everything, and make calls of every kind in it."""
    run.message("user", material.said)
    named = material.named
    with run.decision(
        named["model"],
        tools=material.tools,
        messages=material.history,
        candidates=[*material.tools, {"name": "away", "description": named["removal"] + " is why"}],
        removals=[("", "away", named["removal"])],
        provider=named["provider"],
        settings=material.settings,
        response_id=named["response"],
        skill=named["skill"],
    ) as step:
        step.answer(material.answer)
        calls(step, material)


def calls(step, material):
    """Propose calls of every kind."""
    named = material.named
    with step.call(
        "look", material.arguments, id=named["call id"], via=named["via"], action_id=named["action"], node=named["node"]
    ) as call:
        call.gate("policy", "allow", reason=named["reason"], rule=named["rule"], pointers=["/" + named["pointer"]])
        bound = {"approval_id": named["approval"], "resource_version": named["version"], "items": [named["item"]]}
        call.gate("confirmation", "allow", approver=material.approver, arguments=material.approved, **bound)
        call.discovered(material.found, query=material.query)
        call.executed(material.executed)
        with call.attempt(retry_reason=named["retry"], transport=named["transport"]) as attempt:
            attempt.end("error", vendor_code=named["vendor"], remote_reference=named["remote"])
        call.result(material.result, items=material.items)
    beside = {"depends_on": [named["dependency"]], "parallel_group": named["group"], "speculative": True}
    with step.call("look", {}, **beside, reads=[named["read"]], writes=[named["written"]]) as call:
        call.skip(named["reason"])
    call.discard()
    for arguments, result in ((material.text_arguments, material.list_result), ("{}", material.text_result)):
        with step.call("look", arguments) as call:
            call.result(result)
    for error in material.errors:
        with contextlib.suppress(type(error)), step.call("look", {}) as call, call.attempt():
            raise error
    for tool in material.unregistered:
        with step.call(tool, {}, server=material.server) as call:
            call.result(None)
