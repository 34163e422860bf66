-- question: what do the calls come to under other rules? Their evidence stands in `calls`, so no span is read.
update calls
set outcome = outcome_rule.outcome
from outcome_rule
where outcome_rule.gate = calls.gate_state
    and outcome_rule.attempt = calls.last_attempt
    and outcome_rule.last_effect = calls.last_effect
    and outcome_rule.earlier_effect = calls.earlier_effect
    and outcome_rule.observation = calls.observation
    and outcome_rule.access = case when calls.side_effect = 'read' then 'reads' else 'may_write' end
    and outcome_rule.settled = calls.settled
    and outcome_rule.age = calls.age
    and outcome_rule.outcome <> calls.outcome;
