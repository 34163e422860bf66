"""Every attribute name that toolwitness writes or reads, once.

OpenTelemetry's own GenAI names are used where they exist; they are pinned here as strings because those conventions are
unreleased. Ours stand under `toolwitness.` for the rest.
"""

from __future__ import annotations

SCOPE = "toolwitness"
"""Instrumentation scope of every span of ours."""

UNREGISTERED = "(unregistered)"
"""Stands for a tool's name that is in no catalog, since that is model text."""

PROCESS_DIED = "ProcessDied"
"""The error type of an attempt whose process was gone before its end was delivered. Its span ends when that was found out."""
APPROVAL_UNCLEAR = "approval_unclear"
"""The reason code of the gate that could not tell whether what ran was what had been approved."""

OPERATION = "gen_ai.operation.name"
RECORD = "toolwitness.record"
"""Which record a span is; its presence marks a span as ours."""

ATTRIBUTE_OF = {
    "run_id": "toolwitness.run.id",
    "source": "toolwitness.source",
    "time_known": "toolwitness.time_known",
    "subject": "toolwitness.subject.digest",
    # run
    "run_outcome": "toolwitness.run.outcome",
    "outcome_source": "toolwitness.run.outcome_source",
    "reward": "toolwitness.run.reward",
    "agent": "gen_ai.agent.name",
    "task": "toolwitness.task.id",
    "task_category": "toolwitness.task.category",
    "trial": "toolwitness.run.trial",
    "session": "gen_ai.conversation.id",
    "labels": "toolwitness.run.labels",
    "run_inferred": "toolwitness.run.inferred",
    "stopped_by": "toolwitness.run.stopped_by",
    "budget": "toolwitness.run.budget",
    "spent": "toolwitness.run.spent",
    # decision
    "decision_id": "toolwitness.decision.id",
    "decision_ordinal": "toolwitness.decision.ordinal",
    "finish": "toolwitness.decision.finish",
    "visibility": "toolwitness.decision.visibility_known",
    "toolset_digest": "toolwitness.toolset.digest",
    "candidate_digest": "toolwitness.decision.candidate_digest",
    "removals": "toolwitness.decision.removals",
    "exposure": "toolwitness.decision.exposure",
    "exposure_members": "toolwitness.decision.exposure_members",
    "fallback_reason": "toolwitness.decision.fallback_reason",
    "fallback_added_writer": "toolwitness.decision.fallback_added_writer",
    "skill": "toolwitness.decision.skill",
    "skill_reason": "toolwitness.decision.skill_reason",
    "provider": "gen_ai.provider.name",
    "model": "gen_ai.request.model",
    "response_model": "gen_ai.response.model",
    "response_id": "gen_ai.response.id",
    "settings": "toolwitness.decision.settings",
    "chosen": "toolwitness.decision.chosen",
    "answer_sources": "toolwitness.decision.answer_sources",
    "answer_measured": "toolwitness.decision.answer_measured",
    # call
    "call_id": "toolwitness.call.id",
    "call_ordinal": "toolwitness.call.ordinal",
    "tool": "gen_ai.tool.name",
    "server": "toolwitness.tool.server",
    "provider_call_id": "gen_ai.tool.call.id",
    "via": "toolwitness.call.via",
    "registered": "toolwitness.tool.registered",
    "visible": "toolwitness.call.visible",
    "tool_version": "toolwitness.tool.version",
    "schema_digest": "toolwitness.schema.digest",
    "validated_schema_digest": "toolwitness.schema.validated_digest",
    "definition_digest": "toolwitness.schema.definition_digest",
    "side_effect": "toolwitness.tool.side_effect",
    "idempotent": "toolwitness.tool.idempotent",
    "arguments": "gen_ai.tool.call.arguments",
    "executed_arguments": "toolwitness.call.executed_arguments",
    "arguments_digest": "toolwitness.call.arguments_digest",
    "arguments_valid": "toolwitness.call.arguments_valid",
    "argument_checks": "toolwitness.call.argument_checks",
    "key_digest": "toolwitness.call.key_digest",
    "action_id": "toolwitness.call.action_id",
    "node": "toolwitness.call.node",
    "observation": "toolwitness.observation.status",
    "transport_status": "toolwitness.observation.transport_status",
    "result": "gen_ai.tool.call.result",
    "result_size": "toolwitness.observation.size",
    "result_digest": "toolwitness.observation.digest",
    "commit_level": "toolwitness.observation.commit_level",
    "error_class": "toolwitness.error.class",
    "error_type": "error.type",
    "vendor_code": "toolwitness.error.vendor_code",
    "items_total": "toolwitness.batch.items_total",
    "items_failed": "toolwitness.batch.items_failed",
    "items_unknown": "toolwitness.batch.items_unknown",
    "item_statuses": "toolwitness.batch.item_statuses",
    "attempts_made": "toolwitness.call.attempts_made",
    "cancellation": "toolwitness.call.cancellation",
    "owner": "toolwitness.tool.owner",
    "settle_after_s": "toolwitness.tool.settle_after",
    "depends_on": "toolwitness.call.depends_on",
    "parallel_group": "toolwitness.call.parallel_group",
    "read_set": "toolwitness.call.read_set",
    "write_set": "toolwitness.call.write_set",
    "speculative": "toolwitness.call.speculative",
    "discarded": "toolwitness.call.discarded",
    "discovery_hits": "toolwitness.discovery.hits",
    "discovery_query": "toolwitness.discovery.query",
    "catalog_digest": "toolwitness.discovery.catalog_digest",
    "provenance": "toolwitness.call.provenance",
    "argument_sources": "toolwitness.call.argument_sources",
    "novel_values": "toolwitness.observation.novel_values",
    "minimal": "toolwitness.redaction.minimal",
    "flags": "toolwitness.call.flags",
    # gate
    "gate_kind": "toolwitness.gate.kind",
    "verdict": "toolwitness.gate.verdict",
    "gate_mode": "toolwitness.gate.mode",
    "reason_code": "toolwitness.reason_code",
    "rule_id": "toolwitness.gate.rule_id",
    "rule_version": "toolwitness.gate.rule_version",
    "contract": "toolwitness.gate.contract",
    "pointers": "toolwitness.gate.pointers",
    "keywords": "toolwitness.gate.keywords",
    "approver": "toolwitness.gate.approver",
    "approved_arguments_digest": "toolwitness.gate.approved_arguments_digest",
    "approved_schema_digest": "toolwitness.gate.approved_schema_digest",
    "approved_resource_version": "toolwitness.gate.approved_resource_version",
    "approved_items": "toolwitness.gate.approved_items",
    "approval_id": "toolwitness.gate.approval_id",
    "approval_expires_ns": "toolwitness.gate.approval_expires_at",
    # attempt
    "attempt_ordinal": "toolwitness.attempt.ordinal",
    "attempt_status": "toolwitness.attempt.status",
    "sent": "toolwitness.attempt.sent",
    "effect_ruled_out": "toolwitness.attempt.effect_ruled_out",
    "retry_reason": "toolwitness.attempt.retry_reason",
    "backoff_ms": "toolwitness.attempt.backoff_ms",
    "transport": "toolwitness.attempt.transport",
    "remote_status": "toolwitness.attempt.remote_status",
    "remote_reference": "toolwitness.attempt.remote_reference",
    "error_causes": "toolwitness.error.causes",
    "error_frames": "toolwitness.error.frames",
    # reconciliation
    "finding": "toolwitness.reconciliation.finding",
    "method": "toolwitness.reconciliation.method",
    "basis": "toolwitness.reconciliation.basis",
    "covers_until_ns": "toolwitness.reconciliation.covers_until",
    "found_by": "toolwitness.reconciliation.found_by",
    "reason": "toolwitness.reconciliation.reason",
    # schema, toolset
    "definition": "toolwitness.schema.definition",
    "members": "toolwitness.toolset.members",
}
"""Record field (and store column) to attribute name."""
