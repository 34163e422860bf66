-- question: what did the model see and choose at each step of the run $run?
select
    decision_id, decision_ordinal, finish, visibility, toolset_digest, candidate_digest, removals, exposure, exposure_members,
    fallback_reason, fallback_added_writer, skill, skill_reason, provider, model, chosen, answer_sources, answer_measured,
    start_ns, end_ns
from decisions
where run_id = $run
order by decision_ordinal, start_ns, decision_id
