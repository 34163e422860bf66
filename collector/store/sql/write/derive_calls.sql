-- question: what became of the touched calls, by all their spans, `touched_spans`? The words are those of model.outcome.
--   Three steps: the spans of each part of a call (a gate kind, an attempt, ...), the parts of each call, the evidence.
insert into calls by name
with own as (
    select
        call_id, trace_id, span_id, start_ns, end_ns, week, record, run_id, source, time_known, server, tool,
        decision_id, call_ordinal, side_effect, gate_mode, gate_kind, verdict, attempt_ordinal, attempt_status, sent, effect_ruled_out,
        remote_status, error_type, arguments_digest, key_digest, action_id, node, owner, settle_after_s, finding, basis, covers_until_ns, found_by, commit_level,
        {'start_ns': start_ns, 'end_ns': end_ns, 'span_id': span_id} as moment,
        case when record = 'attempt_start' then 'attempt' else record end as kind,
        -- an attempt_start is a child of the attempt that it announces
        case
            when record = 'gate' then gate_kind
            when record = 'attempt' then span_id
            when record = 'attempt_start' then coalesce(parent_span_id, span_id)
        end as part,
        {
            'run_id': run_id, 'source': source, 'week': week, 'trace_id': trace_id, 'span_id': span_id,
            'decision_id': decision_id, 'call_ordinal': call_ordinal, 'provider_call_id': provider_call_id,
            'server': coalesce(server, ''), 'tool': tool, 'via': via, 'registered': registered, 'visible': visible,
            'tool_version': tool_version, 'schema_digest': schema_digest,
            'validated_schema_digest': validated_schema_digest, 'definition_digest': definition_digest,
            'side_effect': side_effect, 'idempotent': idempotent, 'arguments_digest': arguments_digest,
            'arguments_valid': arguments_valid, 'key_digest': key_digest, 'action_id': action_id, 'node': node,
            'observation': observation,
            'transport_status': transport_status, 'result_size': result_size, 'commit_level': commit_level,
            'error_class': error_class, 'error_type': error_type, 'vendor_code': vendor_code, 'items_total': items_total,
            'items_failed': items_failed, 'items_unknown': items_unknown, 'attempts_made': attempts_made, 'cancellation': cancellation, 'owner': owner,
            'settle_after_s': settle_after_s, 'depends_on': depends_on, 'parallel_group': parallel_group,
            'read_set': read_set, 'write_set': write_set, 'speculative': speculative, 'discarded': discarded,
            'novel_values': novel_values, 'argument_sources': argument_sources
        } as facts
    from touched_spans
),
part as (
    select
        call_id,
        kind,
        part,
        min(run_id) as run_id,
        min(source) as source,
        bool_and(coalesce(time_known, true)) as time_known,
        min({'start_ns': start_ns, 'trace_id': trace_id, 'span_id': span_id, 'week': week}) as first_span,
        min(start_ns) as t0_ns,
        max(start_ns) as last_ns,
        max(end_ns) as ended_ns,
        max(greatest(start_ns, end_ns)) as t1_ns,
        max(server) as server,
        max(tool) as tool,
        -- What an attempt's announcement tells counts where the call's own span never came.
        max(decision_id) as decision_id,
        max(call_ordinal) as call_ordinal,
        max(side_effect) filter (where record = 'attempt_start' and side_effect <> 'unknown') as side_effect,
        max(arguments_digest) as arguments_digest,
        max(key_digest) as key_digest,
        max(action_id) as action_id,
        max(node) as node,
        max(owner) as owner,
        max(settle_after_s) as settle_after_s,
        -- A gate kind may answer more than once (an approval comes after the wait for it): its last word counts.
        arg_max(verdict, moment)
            filter (where coalesce(gate_mode, 'enforced') = 'enforced' and part not in ('output_validation', 'recovery'))
            as verdict,
        max(attempt_ordinal) as attempt_ordinal,
        -- An announced attempt whose own span never came is open, and nobody knows whether it was sent.
        case
            when max(attempt_status) = 'error' and max(error_type) filter (where record = 'attempt') is not null then 'raised'
            else coalesce(max(attempt_status), 'open')
        end as status,
        coalesce(max(sent), 'unknown') <> 'no' and not coalesce(bool_or(effect_ruled_out), false) as effect_possible,
        -- A server or gateway that fails does not tell whether what stands behind it did the work.
        coalesce(max(remote_status) >= 500, false) as is_gateway_error,
        arg_max({'finding': finding, 'found_by': found_by, 'found_ns': start_ns}, moment)
            filter (where kind = 'reconciliation') as found,
        max(moment) filter (where finding = 'committed') as committed_at,
        arg_max(commit_level, moment) filter (where finding = 'committed' and commit_level <> 'unknown') as verified,
        arg_max({'moment': moment, 'covers_until_ns': coalesce(covers_until_ns, start_ns)}, moment)
            filter (where finding = 'not_committed' and coalesce(basis, 'answer') = 'answer') as denied,
        max(coalesce(covers_until_ns, start_ns)) filter (where finding = 'not_committed' and basis = 'absence')
            as absent_until_ns,
        -- Of a call that was held back and went on in a span of its own, the one that saw more of it.
        arg_max(facts, {'made': coalesce(facts.attempts_made, 0), 'moment': moment}) filter (where kind = 'call') as facts,
        bool_or(record = 'attempt' and error_type = 'ProcessDied') as orphaned
    from own
    group by call_id, kind, part
),
merged as (
    select
        call_id,
        min(run_id) as run_id,
        min(source) as source,
        bool_and(time_known) as time_known,
        min(first_span) as first_span,
        min(t0_ns) as t0_ns,
        max(t1_ns) as t1_ns,
        min(t0_ns) filter (where kind = 'call') as started_ns,
        max(ended_ns) filter (where kind = 'call') as ended_ns,
        bool_or(kind = 'call') as has_call_span,
        max(server) as server,
        max(tool) as tool,
        max(decision_id) as decision_id,
        max(call_ordinal) as call_ordinal,
        max(side_effect) as side_effect,
        max(arguments_digest) as arguments_digest,
        max(key_digest) as key_digest,
        max(action_id) as action_id,
        max(node) as node,
        max(owner) as owner,
        max(settle_after_s) as settle_after_s,
        case
            when bool_or(verdict = 'deny') then 'rejected'
            when bool_or(verdict = 'skip') then 'skipped'
            when bool_or(facts.cancellation = 'before_dispatch') then 'withdrawn'
            when bool_or(verdict = 'needs_approval') then 'pending'
            else 'clear'
        end as gate_state,
        arg_min(part, {'last_ns': last_ns, 'part': part}) filter (where verdict = 'deny') as denied_by,
        count(*) filter (where kind = 'attempt') as attempts,
        count(*) filter (where kind = 'attempt' and effect_possible) as possible,
        arg_max(
            {'status': status, 'start_ns': last_ns, 'possible': effect_possible, 'ordinal': coalesce(attempt_ordinal, 0),
                'gateway_error': is_gateway_error},
            {'ordinal': attempt_ordinal, 'last_ns': last_ns, 'part': part}
        ) filter (where kind = 'attempt') as latest,
        -- Of what may have taken effect; where no attempt was seen, the call itself.
        coalesce(
            max(last_ns) filter (where kind = 'attempt' and effect_possible), max(last_ns) filter (where kind = 'call'), 0
        ) as begun_ns,
        coalesce(
            max(ended_ns) filter (where kind = 'attempt' and effect_possible), max(ended_ns) filter (where kind = 'call')
        ) as over_ns,
        bool_or(coalesce(kind = 'attempt' and effect_possible and status = 'open', false)) as is_open,
        max(last_ns) filter (where kind = 'gate') as last_gate_ns,
        bool_or(orphaned) as orphaned,
        any_value(found) as found,
        any_value(committed_at) as committed_at,
        any_value(verified) as verified,
        any_value(denied) as denied,
        any_value(absent_until_ns) as absent_until_ns,
        any_value(facts) as facts
    from part
    group by call_id
),
counted as (
    select
        merged.*,
        -- Whether the call's own word is about its latest attempt: it may have gone on in a span that never came.
        has_call_span and coalesce(facts.attempts_made >= latest.ordinal, true) as is_told,
        -- Attempts that it says were made and are not there: the latest one, and some before it.
        coalesce(facts.attempts_made > coalesce(latest.ordinal, 0), false) as is_last_unseen,
        coalesce(facts.attempts_made > attempts + (facts.attempts_made > coalesce(latest.ordinal, 0))::bigint, false)
            as is_earlier_unseen
    from merged
),
bounded as (
    select
        counted.*,
        -- The latest moments at which something that may have taken effect is known to have begun, and to have ended. There is
        -- no such end while an attempt is open, or another may begin since neither the call nor its process is known to be over.
        case when is_last_unseen or is_earlier_unseen then greatest(begun_ns, ended_ns) else begun_ns end as last_begun_ns,
        case
            when not is_open and not is_last_unseen and not is_earlier_unseen
                and (orphaned or (is_told and coalesce(last_gate_ns <= ended_ns, true)))
                then over_ns
        end as last_ended_ns
    from counted
),
evidence as (
    select
        call_id,
        coalesce(facts.run_id, run_id) as run_id,
        coalesce(facts.source, source) as source,
        time_known,
        coalesce(facts.week, first_span.week) as week,
        t0_ns,
        t1_ns,
        coalesce(started_ns, t0_ns) as started_ns,
        coalesce(ended_ns, t1_ns) as ended_ns,
        coalesce(facts.trace_id, first_span.trace_id) as trace_id,
        coalesce(facts.span_id, first_span.span_id) as span_id,
        has_call_span,
        coalesce(facts.decision_id, decision_id) as decision_id,
        coalesce(facts.call_ordinal, call_ordinal) as call_ordinal,
        facts.provider_call_id,
        coalesce(facts.server, server, '') as server,
        coalesce(facts.tool, tool) as tool,
        facts.via,
        coalesce(facts.registered, 'unknown') as registered,
        coalesce(facts.visible, 'unknown') as visible,
        facts.tool_version,
        facts.schema_digest,
        facts.validated_schema_digest,
        facts.definition_digest,
        coalesce(facts.side_effect, side_effect, 'unknown') as side_effect,
        coalesce(facts.idempotent, 'unknown') as idempotent,
        coalesce(facts.arguments_digest, arguments_digest) as arguments_digest,
        facts.arguments_valid,
        coalesce(facts.key_digest, key_digest) as key_digest,
        coalesce(facts.action_id, action_id) as action_id,
        coalesce(facts.node, node) as node,
        -- Where the process died between its latest attempt's end and the call's, what came back is lost.
        case
            when is_told or attempts = 0 then coalesce(facts.observation, 'none')
            when latest.status = 'open' then 'none'
            else 'cut_by_recording'
        end as observation,
        coalesce(facts.transport_status, 'none') as transport_status,
        facts.result_size,
        coalesce(facts.commit_level, 'unknown') as commit_level,
        facts.error_class,
        facts.error_type,
        facts.vendor_code,
        facts.items_total,
        facts.items_failed,
        facts.items_unknown,
        facts.attempts_made,
        facts.cancellation,
        coalesce(facts.owner, owner) as owner,
        coalesce(facts.settle_after_s, settle_after_s) as settle_after_s,
        facts.depends_on,
        facts.parallel_group,
        facts.read_set,
        facts.write_set,
        coalesce(facts.speculative, false) as speculative,
        coalesce(facts.discarded, false) as discarded,
        facts.novel_values,
        facts.argument_sources,
        attempts,
        gate_state = 'rejected' and attempts = 0 as rejected,
        case when attempts = 0 then denied_by end as rejected_by,
        gate_state,
        case when is_last_unseen then 'unseen' else coalesce(latest.status, 'none') end as last_attempt,
        latest.start_ns as last_attempt_ns,
        case when is_last_unseen or latest.possible then 'possible' else 'none' end as last_effect,
        case
            when is_earlier_unseen or (latest.gateway_error and latest.possible) then 'possible'
            when possible > coalesce(latest.possible and not is_last_unseen, false)::bigint then 'possible'
            else 'none'
        end as earlier_effect,
        -- A later answer overrules a commit that was found; an absence, which proves less, never does.
        case
            when denied.covers_until_ns >= last_begun_ns and (committed_at is null or denied.moment > committed_at)
                then 'not_committed'
            when committed_at is not null then 'committed'
            when absent_until_ns >= last_ended_ns then 'not_committed'
            when found.finding is not null then 'still_unknown'
            else 'no_finding'
        end as settled,
        case when not is_last_unseen and latest.status = 'open' and $now - latest.start_ns > $open_timeout then 'beyond' else 'within' end as age,
        last_begun_ns,
        last_ended_ns,
        verified,
        found.finding,
        found.found_by,
        found.found_ns
    from bounded
)
select
    -- How far a commit was verified is told by the answer, else by who found it out.
    evidence.* exclude (verified) replace (
        case when commit_level = 'unknown' and evidence.settled = 'committed' then coalesce(verified, 'unknown') else commit_level end
            as commit_level
    ),
    outcome_rule.outcome
from evidence
-- left, so that evidence outside of the rules fails the not-null of `outcome` instead of losing the call
left join outcome_rule
    on outcome_rule.gate = evidence.gate_state
    and outcome_rule.attempt = evidence.last_attempt
    and outcome_rule.last_effect = evidence.last_effect
    and outcome_rule.earlier_effect = evidence.earlier_effect
    and outcome_rule.observation = evidence.observation
    and outcome_rule.access = case when evidence.side_effect = 'read' then 'reads' else 'may_write' end
    and outcome_rule.settled = evidence.settled
    and outcome_rule.age = evidence.age;
