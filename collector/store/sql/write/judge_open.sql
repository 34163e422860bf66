-- question: which calls that are still open changed their age, and what do they come to now?
update calls
set age = outcome_rule.age, outcome = outcome_rule.outcome
from outcome_rule
where calls.last_attempt = 'open'
    and outcome_rule.age = case when $now - calls.last_attempt_ns > $open_timeout then 'beyond' else 'within' end
    and outcome_rule.age <> calls.age
    and outcome_rule.gate = calls.gate_state
    and outcome_rule.attempt = calls.last_attempt
    and outcome_rule.last_effect = calls.last_effect
    and outcome_rule.earlier_effect = calls.earlier_effect
    and outcome_rule.observation = calls.observation
    and outcome_rule.access = case when calls.side_effect = 'read' then 'reads' else 'may_write' end
    and outcome_rule.settled = calls.settled;
